"""Rejection of requests during a shutdown."""

import pytest

from steersman.apiserver.filters.retry_after import retry_after
from steersman.apiserver.http import Request, Response


async def served(_: Request) -> Response:
    return Response(200)


def request(path: str, agent: bytes = b"kubectl/v1.36.0") -> Request:
    scope = {"method": "GET", "path": path, "query_string": b"", "headers": [(b"user-agent", agent)]}
    return Request(scope, receive=lambda: None)


async def test_new_request_is_rejected_with_429_and_its_connection_closed():
    response = await retry_after(lambda: True)(served)(request("/api/v1/pods"))
    assert (response.code, response.body) == (429, b"The apiserver is shutting down, please try again later.\n")
    assert {(b"connection", b"close"), (b"retry-after", b"5")} <= set(response.headers)


@pytest.mark.parametrize("path", ["/readyz", "/livez/ping", "/healthz?verbose", "/metrics"])
async def test_probes_and_scrapes_are_served(path):
    assert (await retry_after(lambda: True)(served)(request(path))).code == 200


async def test_own_requests_are_served():
    assert (await retry_after(lambda: True)(served)(request("/api", b"kube-apiserver/v1.36.2"))).code == 200


async def test_requests_are_served_before_the_shutdown():
    assert (await retry_after(lambda: False)(served)(request("/api"))).code == 200
