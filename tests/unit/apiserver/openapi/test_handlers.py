"""``/openapi``: forms, tags, hashes."""

import msgspec
import pytest

from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.http import Request
from steersman.apiserver.openapi.handlers import OpenAPIHandlers
from steersman.schema.resources import Resource, table


def request(path: str, query: str = "", **headers: str) -> Request:
    raw = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    scope = {"method": "GET", "path": path, "query_string": query.encode(), "headers": raw}
    return Request(scope, receive=lambda: None)


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(table())


@pytest.fixture
def handlers(catalog) -> OpenAPIHandlers:
    return OpenAPIHandlers(catalog, lambda gvk, *, v3: None)


def tag(answer) -> str:
    return dict(answer.headers)[b"etag"].decode()


async def test_version_2_is_one_document_with_a_tag(handlers):
    first = await handlers.v2(request("/openapi/v2"))
    again = await handlers.v2(request("/openapi/v2", if_none_match=tag(first)))
    assert msgspec.json.decode(first.body)["swagger"] == "2.0"
    assert (again.code, again.body) == (304, b"")


async def test_protobuf_is_answered_under_its_own_type(handlers):
    accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    answer = await handlers.v2(request("/openapi/v2", accept=accept))
    assert answer.headers[0][1] == b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert answer.body.startswith(b"\x0a\x032.0")


async def test_other_forms_are_406_without_a_body(handlers):
    answer = await handlers.v2(request("/openapi/v2", accept="application/yaml"))
    assert (answer.code, answer.body) == (406, b"")


async def test_the_index_names_addresses_that_work(handlers):
    index = msgspec.json.decode((await handlers.v3_index(request("/openapi/v3"))).body)["paths"]
    path, _, query = index["apis/apps/v1"]["serverRelativeURL"].partition("?")
    assert (await handlers.v3(request(path, query))).code == 200


async def test_another_hash_leads_to_the_right_one(handlers):
    answer = await handlers.v3(request("/openapi/v3/apis/apps/v1", "hash=0000"))
    location = dict(answer.headers)[b"location"].decode()
    assert answer.code == 301
    assert location.startswith("/openapi/v3/apis/apps/v1?hash=")


async def test_a_new_kind_changes_the_tag(catalog, handlers):
    before = tag(await handlers.v2(request("/openapi/v2")))
    catalog.add(Resource("example.com", "v1", "gadgets", "Gadget", "gadget", namespaced=True, verbs=("get",)))
    assert tag(await handlers.v2(request("/openapi/v2"))) != before


async def test_unknown_paths_are_404(handlers):
    assert (await handlers.v3(request("/openapi/v3/apis/none/v1"))).code == 404
