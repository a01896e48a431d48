"""Table of non-resource paths."""

import json

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.http import Request, Response
from steersman.apiserver.server.routes import ANY_METHOD, Routes


def request(path: str, method: str = "GET") -> Request:
    return Request({"method": method, "path": path, "query_string": b"", "headers": []}, receive=None)


def says(text: str):
    async def handler(request: Request) -> Response:
        return Response(200, text.encode())

    return handler


@pytest.fixture
def routes() -> Routes:
    new_routes = Routes()
    new_routes.add("/exact", says("exact"))
    new_routes.add("/any", says("any"), methods=ANY_METHOD, listed=False)
    new_routes.add_prefix("/apis/", says("short"))
    new_routes.add_prefix("/apis/long/", says("long"))
    new_routes.add_paths(lambda: ["/apis/x"])
    return new_routes


@pytest.mark.parametrize(
    ("path", "body"), [("/exact", b"exact"), ("/apis/x", b"short"), ("/apis/long/x", b"long"), ("/apis/", b"short")]
)
async def test_dispatch_prefers_exact_paths_then_longer_prefixes(routes, path, body):
    assert (await routes.dispatch(request(path))).body == body


@pytest.mark.parametrize("path", ["/none", "/exact/", "/apis", ""])
async def test_dispatch_responds_404_in_plain_text(routes, path):
    response = await routes.dispatch(request(path))
    assert (response.code, response.body) == (404, b"404 page not found\n")


async def test_dispatch_raises_405_for_other_methods(routes):
    with pytest.raises(StatusError) as error:
        await routes.dispatch(request("/exact", "PUT"))
    assert error.value.code == 405
    assert (await routes.dispatch(request("/any", "BREW"))).code == 200


@pytest.mark.parametrize("path", ["/", "/index.html"])
async def test_index_lists_sorted_paths(routes, path):
    response = await routes.dispatch(request(path))
    assert json.loads(response.body) == {"paths": ["/apis/x", "/exact"]}


def test_add_raises_for_existing_path(routes):
    with pytest.raises(ValueError, match="two handlers"):
        routes.add("/exact", says("again"))
    with pytest.raises(ValueError, match="taken"):
        routes.add_prefix("/apis/", says("again"))
