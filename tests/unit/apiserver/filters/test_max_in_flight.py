"""Limits of concurrent requests."""

import asyncio

import pytest

from steersman.apiserver.filters.max_in_flight import InFlight, max_in_flight
from steersman.apiserver.filters.request_info import parse
from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import UserInfo

PODS = "/api/v1/namespaces/a/pods"


def request(method: str = "GET", path: str = PODS, *groups: str) -> Request:
    new_request = Request({"method": method, "path": path, "query_string": b"", "headers": []}, receive=None)
    new_request.info = parse(method, path)
    new_request.user = UserInfo("alice", groups)
    return new_request


class Slow:
    """Handler that responds when released."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def __call__(self, request: Request) -> Response:
        await self.go.wait()
        return Response(200)


@pytest.fixture
def in_flight() -> InFlight:
    return InFlight()


async def test_reads_and_writes_have_separate_limits(in_flight):
    slow = Slow()
    handler = max_in_flight(in_flight, reading_max=1, mutating_max=1)(slow)
    running = [asyncio.create_task(handler(request())), asyncio.create_task(handler(request("POST")))]
    await asyncio.sleep(0)  # noqa: TID251
    assert (in_flight.reading, in_flight.mutating) == (1, 1)
    for method in ("GET", "POST"):
        response = await handler(request(method))
        assert (response.code, response.body) == (429, b"Too many requests, please try again later.\n")
        assert {(b"retry-after", b"1"), (b"content-type", b"text/plain; charset=utf-8")} <= set(response.headers)
    slow.go.set()
    await asyncio.gather(*running)
    assert (in_flight.reading, in_flight.mutating) == (0, 0)
    assert (await handler(request())).code == 200


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/api/v1/watch/pods"), ("GET", f"{PODS}/b/log"), ("POST", f"{PODS}/b/exec")]
)
async def test_long_running_requests_are_not_counted(in_flight, method, path):
    slow = Slow()
    handler = max_in_flight(in_flight, reading_max=1, mutating_max=1)(slow)
    task = asyncio.create_task(handler(request(method, path)))
    await asyncio.sleep(0)  # noqa: TID251
    assert (in_flight.reading, in_flight.mutating) == (0, 0)
    slow.go.set()
    await task


async def test_system_masters_are_exempt(in_flight):
    in_flight.reading = 5
    slow = Slow()
    slow.go.set()
    handler = max_in_flight(in_flight, reading_max=1, mutating_max=1)(slow)
    assert (await handler(request("GET", PODS, "system:masters"))).code == 200


async def test_zero_disables_limit(in_flight):
    in_flight.mutating = 1000
    slow = Slow()
    slow.go.set()
    assert (await max_in_flight(in_flight, reading_max=0, mutating_max=0)(slow)(request("POST"))).code == 200


async def test_failed_request_releases_its_slot(in_flight):
    async def fails(request: Request) -> Response:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await max_in_flight(in_flight, reading_max=1, mutating_max=1)(fails)(request())
    assert in_flight.reading == 0
