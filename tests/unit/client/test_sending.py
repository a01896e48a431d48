"""Retries, bounds, counts and warnings."""

import asyncio

import pytest
from tests.unit.client.scripted import ScriptedTransport, Stream, answer, refusal

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.ratelimit import TokenBucket
from steersman.client.errors import RequestFailed, RequestTimedOut
from steersman.client.sending import RETRIES_MAX, Sender
from steersman.client.transport import Request, TransportError


class Metrics:
    def __init__(self):
        self.heard = []

    def request_done(self, *, method, host, code, duration_seconds):
        self.heard.append((method, host, code, duration_seconds))

    def retried(self, *, method, host, code):
        self.heard.append(("retry", method, code))

    def throttled(self, *, method, host, waited_seconds):
        self.heard.append(("throttled", waited_seconds))


def sender(transport, clock, **options):
    return Sender(transport, clock=clock, **{"timeout_seconds": 60, "user_agent": "test", **options})


async def send(method, *script, seconds=1000, **options):
    """What comes of a request within that time, and how many were sent."""
    clock, transport = FakeClock(), ScriptedTransport(*script)
    task = asyncio.ensure_future(sender(transport, clock, **options).request(Request(method, "/x")))
    await clock.advance(seconds)
    return task, transport


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("code", [429, 500, 503])
async def test_what_the_server_wants_later_is_sent_again_then(method, code):
    task, transport = await send(method, refusal(code, headers={"retry-after": "5"}), answer({}), seconds=4.9)
    assert (task.done(), len(transport.requests)) == (False, 1)
    task.cancel()
    task, transport = await send(method, refusal(code, headers={"retry-after": "5"}), answer({}), seconds=5)
    assert (task.result().status, len(transport.requests)) == (200, 2)


@pytest.mark.parametrize("code", [429, 500, 503, 504])
async def test_without_retry_after_a_refusal_is_final(code):
    task, transport = await send("GET", refusal(code))
    assert (task.result().status, len(transport.requests)) == (code, 1)


async def test_other_refusals_are_final_even_with_retry_after():
    task, transport = await send("POST", refusal(409, headers={"retry-after": "1"}))
    assert (task.result().status, len(transport.requests)) == (409, 1)


async def test_after_ten_retries_the_refusal_is_handed_back():
    task, transport = await send("GET", *[refusal(429, headers={"retry-after": "1"})] * 20)
    assert (task.result().status, len(transport.requests)) == (429, RETRIES_MAX + 1)


async def test_a_wait_that_is_too_long_is_cut():
    task, _ = await send("GET", refusal(429, headers={"retry-after": "100000"}), answer({}), seconds=60)
    assert task.result().status == 200


async def test_a_read_is_sent_again_over_another_connection():
    task, transport = await send("GET", TransportError("reset"), answer({}))
    assert (task.result().status, len(transport.requests)) == (200, 2)


async def test_a_write_that_may_have_had_effect_is_not():
    task, transport = await send("POST", TransportError("reset"), answer({}))
    with pytest.raises(RequestFailed, match="POST /x: reset"):
        task.result()
    assert len(transport.requests) == 1


async def test_a_write_that_was_never_sent_is():
    task, _ = await send("POST", TransportError("refused", before_sending=True), answer({}))
    assert task.result().status == 200


async def test_no_answer_in_time_is_a_failure():
    task, _ = await send("GET", None)
    with pytest.raises(RequestTimedOut, match="GET /x: not done within 60 seconds"):
        task.result()


async def test_a_stream_is_opened_once_and_not_bounded():
    clock = FakeClock()
    transport = ScriptedTransport(Stream(b"a", ends=True), TransportError("refused"))
    way = sender(transport, clock)
    async with way.open(Request("GET", "/x")) as stream:
        await clock.advance(1000)
        assert [piece async for piece in stream] == [b"a"]
    with pytest.raises(RequestFailed, match="refused"):
        await way.open(Request("GET", "/x")).__aenter__()


async def test_requests_wait_for_tokens():
    clock, metrics = FakeClock(), Metrics()
    limiter = TokenBucket(1, 1, clock=clock)
    way = sender(ScriptedTransport(answer({}), answer({})), clock, limiter=limiter, metrics=metrics)
    await way.request(Request("GET", "/x"))
    task = asyncio.ensure_future(way.request(Request("GET", "/x")))
    await clock.advance(0.9)
    assert not task.done()
    await clock.advance(0.2)
    assert task.result().status == 200
    assert [heard for heard in metrics.heard if heard[0] == "throttled"] == [("throttled", 0), ("throttled", 1.0)]


async def test_all_is_counted():
    metrics = Metrics()
    await send("GET", TransportError("reset"), refusal(429, headers={"retry-after": "2"}), answer({}), metrics=metrics)
    assert metrics.heard == [
        ("GET", "scripted", "<error>", 0),
        ("retry", "GET", "<error>"),
        ("GET", "scripted", "429", 0),
        ("retry", "GET", "429"),
        ("GET", "scripted", "200", 0),
    ]


async def test_warnings_are_handed_on_and_the_agent_is_told():
    heard = []
    _, transport = await send("GET", answer({}, headers={"warning": '299 - "old"'}), on_warning=heard.append)
    assert heard == ["old"]
    assert transport.requests[0].headers["user-agent"] == "test"
