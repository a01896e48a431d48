"""Detection of requests that block the event loop."""

import logging

import pytest

from steersman.apiserver.filters.errors import errors
from steersman.apiserver.filters.request_info import request_info
from steersman.apiserver.http import Response
from steersman.apiserver.request import UserInfo
from steersman.apiserver.server.app import Application
from steersman.apiserver.server.loopback import Loopback
from steersman.asynckit.clock import FakeClock

PODS = "/api/v1/namespaces/default/pods"


class Slow:
    """Handler that advances the clock, as work without an await would."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.seconds = 0.0
        self.app = Application(errors()(request_info()(self)), clock=self.clock)
        self.app.loop_guard.begin_logging()

    async def __call__(self, request):
        request.user = UserInfo("jane")
        self.clock._elapsed += self.seconds
        return Response(200, b"ok")

    async def request(self, target, seconds):
        self.seconds = seconds
        await Loopback(self.app, headers={"audit-id": "a-1"}).request("GET", target)

    async def samples(self):
        (family,) = await self.app.loop_guard.collect()
        return {
            (suffix, dict(labels).get("resource"), dict(labels).get("le")): v for suffix, labels, v in family.samples
        }


async def test_loop_guard_counts_slow_slices_by_request_attributes():
    slow = Slow()
    for seconds in (0.04, 0.06, 0.3):
        await slow.request(PODS, seconds)
    await slow.request("/livez", 0.06)
    samples = await slow.samples()
    assert samples["_count", "pods", None] == 2
    assert samples["_sum", "pods", None] == pytest.approx(0.36)
    assert samples["_bucket", "pods", "0.1"] == 1
    assert samples["_bucket", "pods", "0.5"] == 2
    assert samples["_count", "", None] == 1


async def test_loop_guard_logs_the_request(caplog):
    slow = Slow()
    with caplog.at_level(logging.WARNING, "steersman.apiserver.server.loop_guard"):
        await slow.request(f"{PODS}?limit=1", 0.04)
        assert caplog.messages == []
        await slow.request(f"{PODS}%0Aevil", 0.25)
    (line,) = caplog.messages
    assert line.startswith(f"a request held the event loop for 250 ms: GET '{PODS}\\nevil' by 'jane', audit id a-1")


async def test_loop_guard_counts_without_logging_until_it_begins(caplog):
    slow = Slow()
    slow.app = Application(errors()(request_info()(slow)), clock=slow.clock)
    await slow.request(PODS, 0.25)
    assert caplog.messages == []
    assert (await slow.samples())["_count", "pods", None] == 1


async def test_loop_guard_limits_the_lines_it_logs(caplog):
    slow = Slow()
    with caplog.at_level(logging.WARNING, "steersman.apiserver.server.loop_guard"):
        for _ in range(20):
            await slow.request(PODS, 0.06)
        assert len(caplog.messages) < 15
        await slow.clock.advance(60)
        await slow.request(PODS, 0.06)
    unlogged = sum(record.args[-1] for record in caplog.records)
    assert len(caplog.messages) + unlogged == 21


async def test_loop_guard_measures_streams():
    slow = Slow()

    async def stream():
        yield b"a"
        slow.clock._elapsed += 2
        yield b"b"

    async def handler(request):
        return Response(200, stream=stream())

    app = Application(errors()(request_info()(handler)), clock=slow.clock)
    assert (await Loopback(app).request("GET", PODS)).body == b"ab"
    (family,) = await app.loop_guard.collect()
    assert ("_count", 1) in [(suffix, value) for suffix, _, value in family.samples]
