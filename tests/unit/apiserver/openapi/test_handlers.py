"""``/openapi``: media types, ETags and hashes."""

import asyncio

import msgspec
import pytest

from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.http import Request
from steersman.apiserver.openapi.handlers import OpenAPIHandlers
from steersman.asynckit.clock import FakeClock
from steersman.schema.resources import Resource, table


def request(path: str, query: str = "", *, method: str = "GET", **headers: str) -> Request:
    raw = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    scope = {"method": method, "path": path, "query_string": query.encode(), "headers": raw}
    return Request(scope, receive=lambda: None)


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(table())


@pytest.fixture
def handlers(catalog) -> OpenAPIHandlers:
    return OpenAPIHandlers(catalog, lambda resource: None, clock=FakeClock())


async def body(answer) -> bytes:
    return answer.body if answer.stream is None else b"".join([piece async for piece in answer.stream])


def tag(answer) -> str:
    return dict(answer.headers)[b"etag"].decode()


async def test_v2_serves_one_document_with_etag(handlers):
    first = await handlers.v2(request("/openapi/v2"))
    again = await handlers.v2(request("/openapi/v2", if_none_match=tag(first)))
    assert msgspec.json.decode(await body(first))["swagger"] == "2.0"
    assert (again.code, again.body) == (304, b"")


async def test_protobuf_has_own_content_type(handlers):
    accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    answer = await handlers.v2(request("/openapi/v2", accept=accept))
    assert answer.headers[0][1] == b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert (await body(answer)).startswith(b"\x0a\x032.0")


async def test_other_media_types_are_406_without_body(handlers):
    answer = await handlers.v2(request("/openapi/v2", accept="application/yaml"))
    assert (answer.code, answer.body) == (406, b"")


async def test_index_lists_working_urls(handlers):
    index = msgspec.json.decode((await handlers.v3_index(request("/openapi/v3"))).body)["paths"]
    path, _, query = index["apis/apps/v1"]["serverRelativeURL"].partition("?")
    assert (await handlers.v3(request(path, query))).code == 200


async def test_other_hash_redirects_to_current_one(handlers):
    answer = await handlers.v3(request("/openapi/v3/apis/apps/v1", "hash=0000"))
    location = dict(answer.headers)[b"location"].decode()
    assert answer.code == 301
    assert location.startswith("/openapi/v3/apis/apps/v1?hash=")


async def test_new_kind_changes_etag(catalog, handlers):
    before = tag(await handlers.v2(request("/openapi/v2")))
    catalog.add(Resource("example.com", "v1", "gadgets", "Gadget", "gadget", namespaced=True, verbs=("get",)))
    assert tag(await handlers.v2(request("/openapi/v2"))) != before


async def test_unknown_paths_are_404(handlers):
    assert (await handlers.v3(request("/openapi/v3/apis/none/v1"))).code == 404


async def test_content_length_is_sum_of_pieces(handlers):
    answer = await handlers.v2(request("/openapi/v2"))
    pieces = [piece async for piece in answer.stream]
    assert dict(answer.headers)[b"content-length"] == b"%d" % sum(map(len, pieces))
    assert max(map(len, pieces)) <= 192 * 1024


async def test_large_documents_let_other_requests_run_between_pieces(handlers):
    answer = await handlers.v2(request("/openapi/v2"))
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn

    other = asyncio.create_task(count_turns())
    pieces = [piece async for piece in answer.stream]
    other.cancel()
    assert len(pieces) > 5
    assert turns >= len(pieces)


async def test_hash_in_url_makes_response_cacheable_for_a_year(handlers):
    etag = tag(await handlers.v3(request("/openapi/v3/apis/apps/v1"))).strip('"')
    headers = dict((await handlers.v3(request("/openapi/v3/apis/apps/v1", f"hash={etag}"))).headers)
    assert headers[b"cache-control"] == b"public, immutable"
    assert headers[b"expires"] == b"Fri, 01 Jan 2027 00:00:00 GMT"
    assert headers[b"vary"] == b"Accept"
    without = dict((await handlers.v3(request("/openapi/v3/apis/apps/v1"))).headers)
    assert not {b"cache-control", b"expires"} & without.keys()


@pytest.mark.parametrize("header", ["*", "W/{tag}", '"0", {tag}'])
async def test_if_none_match_compares_weakly(handlers, header):
    etag = tag(await handlers.v3(request("/openapi/v3/apis/apps/v1")))
    answer = await handlers.v3(request("/openapi/v3/apis/apps/v1", if_none_match=header.format(tag=etag)))
    assert answer.code == 304


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("separator", ["@", "."])
async def test_both_protobuf_media_types_are_accepted(handlers, version, separator):
    accept = f"application/com.github.proto-openapi.spec.v{version}{separator}v1.0+protobuf"
    path = "/openapi/v2" if version == 2 else "/openapi/v3/apis/policy/v1"
    answer = await (handlers.v2 if version == 2 else handlers.v3)(request(path, accept=accept))
    assert answer.code == 200
    assert answer.headers[0][1] == accept.replace("@", ".").encode()


async def test_empty_path_is_404(handlers):
    assert (await handlers.v3(request("/openapi/v3/"))).code == 404


async def test_matching_etag_is_304_for_reads_and_412_for_other_methods(handlers):
    for serve, path in ((handlers.v2, "/openapi/v2"), (handlers.v3, "/openapi/v3/apis/apps/v1")):
        etag = tag(await serve(request(path)))
        codes = [
            (await serve(request(path, method=method, if_none_match=etag))).code for method in ("GET", "HEAD", "POST")
        ]
        assert codes == [304, 304, 412]
