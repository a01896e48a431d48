"""Negotiation and caching of discovery."""

import msgspec
import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.discovery.catalog import Catalog, Registration
from steersman.apiserver.discovery.handlers import DiscoveryHandlers, negotiate
from steersman.apiserver.http import Request
from steersman.schema.resources import Resource, table

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def request(path: str, *, query: str = "", method: str = "GET", **headers: str) -> Request:
    raw = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    scope = {"method": method, "path": path, "query_string": query.encode(), "headers": raw}
    return Request(scope, receive=lambda: None)


@pytest.fixture
def handlers() -> DiscoveryHandlers:
    return DiscoveryHandlers(Catalog(table()), server_address=lambda: "127.0.0.1:6443")


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "text/html,application/json;q=0.1"])
def test_negotiate_defaults_to_plain_json(accept):
    assert negotiate(accept).content_type == b"application/json"


def test_negotiate_returns_first_acceptable_alternative():
    assert negotiate(f"{AGGREGATED},application/json", aggregates=True).aggregated == "v2"


@pytest.mark.parametrize("accept", [f"application/json,{AGGREGATED}", f"application/json,{AGGREGATED};q=0.1"])
def test_negotiate_prefers_aggregated_form_where_offered(accept):
    assert negotiate(accept, aggregates=True).aggregated == "v2"
    assert not negotiate(accept).aggregated


@pytest.mark.parametrize(
    "accept", ["text/html", "application/json;as=Table;g=meta.k8s.io;v=v1", AGGREGATED.replace("v2", "v9")]
)
def test_negotiate_raises_406(accept):
    with pytest.raises(StatusError) as refused:
        negotiate(accept, aggregates=True)
    assert refused.value.code == 406


@pytest.mark.parametrize("path", ["/api/v1", "/apis/apps", "/apis/apps/v1"])
async def test_groups_and_versions_have_no_aggregated_form(handlers, path):
    with pytest.raises(StatusError) as refused:
        await handlers.below(request(path, accept=AGGREGATED))
    assert refused.value.message.startswith("only the following media types are accepted: ")


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/apis/apps/v1", "/apis/apiregistration.k8s.io"])
async def test_built_in_versions_refuse_unknown_media_types_before_negotiation(handlers, path):
    handler = handlers.core if path == "/api" else handlers.below
    for accept in ("text/html", "application/*"):
        with pytest.raises(StatusError) as refused:
            await handler(request(path, accept=accept))
        assert refused.value.message == (
            "406: Not Acceptable\n\nAvailable representations: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )


async def test_groups_accept_partial_wildcards(handlers):
    assert (await handlers.groups(request("/apis", accept="application/*"))).code == 200
    assert (await handlers.below(request("/apis/apps", accept="application/*"))).code == 200


async def test_aggregated_form_has_etag_and_304(handlers):
    first = await handlers.groups(request("/apis", accept=AGGREGATED))
    tag = dict(first.headers)[b"etag"].decode()
    second = await handlers.groups(request("/apis", accept=AGGREGATED, if_none_match=tag))
    assert (first.code, second.code, second.body) == (200, 304, b"")


async def test_catalog_change_is_visible_immediately():
    catalog = Catalog(table())
    handlers = DiscoveryHandlers(catalog, server_address=lambda: "")
    await handlers.groups(request("/apis"))
    catalog.add(Resource("example.com", "v1", "gadgets", "Gadget", "gadget", namespaced=True, verbs=("get",)))
    groups = msgspec.json.decode((await handlers.groups(request("/apis"))).body)["groups"]
    assert groups[-1]["name"] == "example.com"


async def test_registered_group_without_a_server_has_a_document_but_no_resources():
    catalog = Catalog(table())
    handlers = DiscoveryHandlers(catalog, server_address=lambda: "")
    await handlers.groups(request("/apis"))
    catalog.set_registered([Registration("example.com", "v1", 1, 1)])
    groups = msgspec.json.decode((await handlers.groups(request("/apis"))).body)["groups"]
    assert groups[-1]["name"] == "example.com"
    index = msgspec.json.decode((await handlers.below(request("/apis/example.com"))).body)
    assert index["preferredVersion"] == {"groupVersion": "example.com/v1", "version": "v1"}
    assert (await handlers.below(request("/apis/example.com/v1"))).code == 404
    aggregated = msgspec.json.decode((await handlers.groups(request("/apis", accept=AGGREGATED))).body)
    assert "example.com" not in {item["metadata"]["name"] for item in aggregated["items"]}
    assert {"/apis/example.com", "/apis/example.com/v1"} <= set(handlers.paths())


@pytest.mark.parametrize("path", ["/apis/apps", "/apis/apps/", "/apis/apps/v1", "/api/v1/"])
async def test_groups_and_versions_have_documents(handlers, path):
    assert (await handlers.below(request(path))).code == 200


@pytest.mark.parametrize("path", ["/apis/core", "/apis/example.com/v1", "/apis/x/y/z", "/apis//v1"])
async def test_unknown_groups_are_404_in_plain_text(handlers, path):
    answer = await handlers.below(request(path))
    assert (answer.code, answer.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize("path", ["/apis/apps/v9", "/api/v2"])
async def test_unknown_versions_of_known_groups_are_404_status(handlers, path):
    with pytest.raises(StatusError) as caught:
        await handlers.below(request(path))
    assert caught.value.status["message"] == "the server could not find the requested resource"


def test_negotiate_prefers_highest_quality():
    protobuf = "application/vnd.kubernetes.protobuf"
    assert negotiate(f"{protobuf},application/json").content_type == protobuf.encode()
    assert negotiate(f"{protobuf};q=0.5,application/json").content_type == b"application/json"
    assert negotiate(f"{protobuf};q=x,*/*").content_type == b"application/json"


@pytest.mark.parametrize(
    ("options", "is_indented"),
    [
        ({}, False),
        ({"query": "pretty=true"}, True),
        ({"user_agent": "curl/8.5"}, True),
        ({"user_agent": "curl/8.5", "query": "pretty=false"}, False),
        ({"accept": "application/json;pretty=1"}, True),
        ({"accept": f"{AGGREGATED},application/json", "query": "pretty=true"}, True),
        ({"accept": f"{AGGREGATED};pretty=1,application/json;pretty=1"}, True),
    ],
)
async def test_documents_are_indented_for_people(handlers, options, is_indented):
    for handler, path in ((handlers.core, "/api"), (handlers.groups, "/apis"), (handlers.below, "/apis/apps/v1")):
        body = (await handler(request(path, **options))).body
        plain = (await handler(request(path, **options | {"query": "pretty=0"}))).body
        assert msgspec.json.decode(body) == msgspec.json.decode(plain)
        assert body.startswith(b'{\n  "kind": ') is is_indented


async def test_indented_documents_are_cached_apart(handlers):
    bodies = [(await handlers.groups(request("/apis", query=query))).body for query in ("", "pretty=1", "")]
    assert bodies[0] == bodies[2] != bodies[1]


@pytest.mark.parametrize("method", ["HEAD", "POST", "DELETE"])
async def test_groups_and_custom_versions_answer_every_method(method):
    catalog = Catalog(table())
    catalog.add(Resource("example.com", "v1", "gadgets", "Gadget", "gadget", namespaced=True, verbs=("get",)))
    handlers = DiscoveryHandlers(catalog, server_address=lambda: "")
    for path in ("/apis/apps", "/apis/example.com", "/apis/example.com/v1"):
        assert (await handlers.below(request(path, method=method))).code == 200
    assert (await handlers.below(request("/apis/nothing", method=method))).code == 404
    for path, code in (
        ("/apis/apps/v1", 405),
        ("/apis/apiregistration.k8s.io", 405),
        ("/api/v1", 405),
        ("/apis/apps/v9", 404),
    ):
        with pytest.raises(StatusError) as caught:
            await handlers.below(request(path, method=method))
        assert caught.value.code == code
