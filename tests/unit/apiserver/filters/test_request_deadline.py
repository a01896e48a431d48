"""Request deadlines."""

import asyncio

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.filters.request_deadline import request_deadline
from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import RequestInfo


def request(query: bytes, verb: str = "list") -> Request:
    new_request = Request({"method": "GET", "path": "/", "query_string": query, "headers": []}, receive=lambda: None)
    new_request.info = RequestInfo(verb, "/")
    return new_request


async def answer(_: Request) -> Response:
    return Response(200)


async def never(_: Request) -> Response:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize("query", [b"", b"timeout=5s", b"timeout=", b"timeout=0", b"timeout=-1s"])
async def test_request_within_deadline_succeeds(query):
    assert (await request_deadline(longest_seconds=60)(answer)(request(query))).code == 200


async def test_invalid_duration_is_400():
    with pytest.raises(StatusError, match='unknown unit "x"') as refused:
        await request_deadline(longest_seconds=60)(answer)(request(b"timeout=5x"))
    assert refused.value.code == 400


async def test_exceeded_deadline_is_504():
    with pytest.raises(StatusError) as late:
        await request_deadline(longest_seconds=60)(never)(request(b"timeout=1ms"))
    assert late.value.code == 504


async def test_watches_are_exempt():
    assert (await request_deadline(longest_seconds=60)(answer)(request(b"timeout=5x", "watch"))).code == 200
