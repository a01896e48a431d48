"""Exceptions as responses."""

import json
import logging

import pytest

from steersman.apimachinery.errors import not_found, too_many_requests
from steersman.apiserver.filters.errors import errors
from steersman.apiserver.http import Request, Response


def request(accept: str = "") -> Request:
    headers = [(b"accept", accept.encode())] if accept else []
    new_request = Request({"method": "GET", "path": "/x", "query_string": b"", "headers": headers}, receive=None)
    new_request.audit_id = "audit-1"
    return new_request


async def answer(error: Exception, accept: str = "") -> Response:
    async def handler(request: Request) -> Response:
        raise error

    return await errors()(handler)(request(accept))


async def test_errors_converts_status_error():
    response = await answer(not_found("pods", "a"))
    assert response.code == 404
    assert json.loads(response.body)["details"] == {"name": "a", "kind": "pods"}


async def test_errors_sends_headers_of_status_error():
    response = await answer(too_many_requests("later", retry_after_seconds=3))
    assert (b"retry-after", b"3") in response.headers


async def test_errors_encodes_status_as_yaml_on_request():
    response = await answer(not_found("pods", "a"), "application/yaml")
    assert (b"content-type", b"application/yaml") in response.headers
    assert b"reason: NotFound" in response.body


async def test_errors_converts_exception_to_500_and_logs_traceback(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.ERROR):
        response = await answer(KeyError("inner matter"))
    status = json.loads(response.body)
    assert (response.code, status["reason"]) == (500, "InternalError")
    assert "audit-1" in status["message"]
    assert "inner matter" not in status["message"]
    assert "audit-1" in caplog.text
    assert "inner matter" in caplog.text
