"""Request info: cases of upstream's factory and edge cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.filters.request_info import parse, refine, request_info
from steersman.apiserver.http import Request, Response

N = "/api/v1/namespaces"


def fields(info):
    return (info.verb, info.group, info.version, info.namespace, info.resource, info.subresource, info.name)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", f"{N}", ("list", "", "v1", "", "namespaces", "", "")),
        ("GET", f"{N}/other", ("get", "", "v1", "other", "namespaces", "", "other")),
        ("GET", f"{N}/other/", ("get", "", "v1", "other", "namespaces", "", "other")),
        ("PUT", f"{N}/other/status", ("update", "", "v1", "other", "namespaces", "status", "other")),
        ("PUT", f"{N}/other/finalize", ("update", "", "v1", "other", "namespaces", "finalize", "other")),
        ("GET", f"{N}/other/pods", ("list", "", "v1", "other", "pods", "", "")),
        ("GET", f"{N}/other/pods/foo", ("get", "", "v1", "other", "pods", "", "foo")),
        ("HEAD", f"{N}/other/pods/foo", ("get", "", "v1", "other", "pods", "", "foo")),
        ("GET", f"{N}/other/pods/foo/log", ("get", "", "v1", "other", "pods", "log", "foo")),
        ("GET", "/api/v1/pods", ("list", "", "v1", "", "pods", "", "")),
        ("DELETE", f"{N}/other/pods/foo", ("delete", "", "v1", "other", "pods", "", "foo")),
        ("DELETE", f"{N}/other/pods", ("deletecollection", "", "v1", "other", "pods", "", "")),
        ("POST", f"{N}/other/pods", ("create", "", "v1", "other", "pods", "", "")),
        ("PATCH", "/apis/apps/v1/namespaces/a/deployments/b/scale", ("patch", "apps", "v1", "a", "deployments", "scale", "b")),
        ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles", ("list", "rbac.authorization.k8s.io", "v1", "", "clusterroles", "", "")),
        ("GET", "/api/v1/watch/pods", ("watch", "", "v1", "", "pods", "", "")),
        ("GET", "/api/v1/watch/namespaces/a/pods/b", ("watch", "", "v1", "a", "pods", "", "b")),
        ("GET", "/api/v1/watch/namespaces/a/pods/b/log", ("watch", "", "v1", "a", "pods", "log", "b")),
        ("OPTIONS", f"{N}/a", ("", "", "v1", "a", "namespaces", "", "a")),
        ("GET", "/api/v1//namespaces/a", ("get", "", "v1", "", "", "a", "namespaces")),
        ("GET", "/apis/apps/v1/namespaces/a/deployments//status", ("list", "apps", "v1", "a", "deployments", "status", "")),
    ],
)  # fmt: skip
def test_parse_resource_paths(method, path, expected):
    info = parse(method, path)
    assert info.is_resource
    assert fields(info) == expected


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/", "/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz/ping/a/b", "//"]
)
def test_parse_non_resource_paths(path):
    info = parse("GET", path)
    assert not info.is_resource
    assert (info.verb, info.path) == ("get", path)


def test_parse_keeps_path_after_subresource():
    assert parse("GET", f"{N}/a/services/b/proxy/x/y").parts == ("x", "y")


def test_parse_raises_for_verb_in_path_without_resource():
    with pytest.raises(StatusError, match="could not find"):
        parse("GET", "/api/v1/watch")


@pytest.mark.parametrize(
    ("query", "verb", "name"),
    [
        (b"watch=true", "watch", ""),
        (b"watch=1", "watch", ""),
        (b"watch=", "watch", ""),
        (b"watch=yes", "watch", ""),
        (b"watch=0", "list", ""),
        (b"watch=false", "list", ""),
        (b"fieldSelector=metadata.name%3Dfoo", "list", "foo"),
        (b"fieldSelector=metadata.name%3D%3Dfoo,spec.x%3D1&watch=true", "watch", "foo"),
        (b"fieldSelector=metadata.name!%3Dfoo", "list", ""),
        (b"fieldSelector=metadata.name%3Da%2Fb", "list", ""),
        (b"limit=5", "list", ""),
        (b"watch=\xff", "watch", ""),
    ],
)
def test_refine_sets_watch_or_name(query, verb, name):
    info = refine(parse("GET", f"{N}/a/pods"), query)
    assert (info.verb, info.name) == (verb, name)


@given(st.text(max_size=60), st.sampled_from(["GET", "POST", "BREW"]), st.binary(max_size=40))
def test_parse_handles_any_path_and_query(text, method, query):
    try:
        info = parse(method, "/api/v1/" + text)
    except StatusError:
        return
    refine(info, query)


async def test_request_info_parses_a_path_once():
    seen = []

    async def handler(request: Request) -> Response:
        seen.append(request.info)
        return Response(200)

    filtered = request_info()(handler)
    for query in (b"", b"", b"pretty=1"):
        scope = {"method": "GET", "path": f"{N}/a/pods/b", "query_string": query, "headers": []}
        await filtered(Request(scope, receive=None))
    assert seen[0] is seen[1] is seen[2]


async def test_request_info_reads_a_long_query():
    seen = []

    async def handler(request: Request) -> Response:
        seen.append(request)
        return Response(200)

    terms = ",".join(f"metadata.name!=x{number}" for number in range(10_000))
    for extra in ("", "&pretty=%zz"):
        query = f"watch=1&fieldSelector=metadata.name=a,{terms}{extra}".encode()
        scope = {"method": "GET", "path": f"{N}/a/pods", "query_string": query, "headers": []}
        await request_info()(handler)(Request(scope, receive=None))
    assert [request.info.verb for request in seen] == ["watch", "watch"]
    assert [request.info.name for request in seen] == ["a", "a"]
    assert seen[0].param("watch") == "1"
