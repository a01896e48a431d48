"""Ends of HTTP/2 connections after some requests."""

import pytest

from steersman.apiserver.filters.goaway import probabilistic_goaway
from steersman.apiserver.http import Request, Response


async def served(_: Request) -> Response:
    return Response(200)


def request(version: str) -> Request:
    scope = {"method": "GET", "path": "/api", "query_string": b"", "headers": [], "http_version": version}
    return Request(scope, receive=lambda: None)


@pytest.mark.parametrize(("version", "number", "ends"), [("2", 0.009, True), ("2", 0.01, False), ("1.1", 0.0, False)])
async def test_fraction_of_requests_by_http2_ends_its_connection(version, number, ends):
    response = await probabilistic_goaway(0.01, lambda: number)(served)(request(version))
    assert ((b"connection", b"close") in response.headers) is ends
