"""Retries, timeouts, metrics and warnings."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from tests.unit.client.scripted import ScriptedTransport, Stream, answer, refusal

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.ratelimit import TokenBucket
from steersman.client.errors import RequestFailed, RequestTimedOut
from steersman.client.sending import RETRIES_MAX, RetryPolicy, Sender
from steersman.client.transport import Request, TransportError


class Metrics:
    def __init__(self):
        self.observations = []
        self.sizes = []

    def request_done(self, *, method, host, code, duration_seconds):
        self.observations.append((method, host, code, duration_seconds))

    def transferred(self, *, method, host, request_bytes, response_bytes):
        self.sizes.append((method, request_bytes, response_bytes))

    def retried(self, *, method, host, code):
        self.observations.append(("retry", method, code))

    def throttled(self, *, method, host, waited_seconds):
        self.observations.append(("throttled", waited_seconds))


def sender(transport, clock, **options):
    return Sender(transport, clock=clock, **{"timeout_seconds": 60, "user_agent": "test", **options})


async def send(method, *script, seconds=1000, **options):
    """Return the result of a request within that time, and the number of requests sent."""
    clock, transport = FakeClock(), ScriptedTransport(*script)
    task = asyncio.ensure_future(sender(transport, clock, **options).request(Request(method, "/x")))
    await clock.advance(seconds)
    return task, transport


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("code", [429, 500, 503])
async def test_request_is_retried_after_retry_after(method, code):
    task, transport = await send(method, refusal(code, headers={"retry-after": "5"}), answer({}), seconds=4.9)
    assert (task.done(), len(transport.requests)) == (False, 1)
    task.cancel()
    task, transport = await send(method, refusal(code, headers={"retry-after": "5"}), answer({}), seconds=5)
    assert (task.result().status, len(transport.requests)) == (200, 2)


@pytest.mark.parametrize("code", [429, 500, 503, 504])
async def test_request_is_not_retried_without_retry_after(code):
    task, transport = await send("GET", refusal(code))
    assert (task.result().status, len(transport.requests)) == (code, 1)


async def test_request_is_not_retried_for_other_codes():
    task, transport = await send("POST", refusal(409, headers={"retry-after": "1"}))
    assert (task.result().status, len(transport.requests)) == (409, 1)


async def test_request_returns_the_error_after_ten_retries():
    task, transport = await send("GET", *[refusal(429, headers={"retry-after": "1"})] * 20)
    assert (task.result().status, len(transport.requests)) == (429, RETRIES_MAX + 1)


async def test_retry_after_is_capped():
    task, _ = await send("GET", refusal(429, headers={"retry-after": "100000"}), answer({}), seconds=60)
    assert task.result().status == 200


async def test_read_is_retried_after_a_broken_connection():
    task, transport = await send("GET", TransportError("reset"), answer({}))
    assert (task.result().status, len(transport.requests)) == (200, 2)


async def test_write_is_not_retried_after_a_broken_connection():
    task, transport = await send("POST", TransportError("reset"), answer({}))
    with pytest.raises(RequestFailed, match="POST /x: reset"):
        task.result()
    assert len(transport.requests) == 1


async def test_write_is_retried_when_no_connection_was_made():
    task, _ = await send("POST", TransportError("refused", before_sending=True), answer({}))
    assert task.result().status == 200


async def test_request_times_out():
    task, _ = await send("GET", None)
    with pytest.raises(RequestTimedOut, match="GET /x: not done within 60 seconds"):
        task.result()


async def test_open_is_not_retried_and_the_stream_has_no_timeout():
    clock = FakeClock()
    transport = ScriptedTransport(Stream(b"a", ends=True), TransportError("refused"))
    way = sender(transport, clock)
    async with way.open(Request("GET", "/x")) as stream:
        await clock.advance(1000)
        assert [piece async for piece in stream] == [b"a"]
    with pytest.raises(RequestFailed, match="refused"):
        await way.open(Request("GET", "/x")).__aenter__()


async def test_requests_wait_for_the_rate_limiter():
    clock, metrics = FakeClock(), Metrics()
    limiter = TokenBucket(1, 1, clock=clock)
    way = sender(ScriptedTransport(answer({}), answer({})), clock, limiter=limiter, metrics=metrics)
    await way.request(Request("GET", "/x"))
    task = asyncio.ensure_future(way.request(Request("GET", "/x")))
    await clock.advance(0.9)
    assert not task.done()
    await clock.advance(0.2)
    assert task.result().status == 200
    assert [received for received in metrics.observations if received[0] == "throttled"] == [
        ("throttled", 0),
        ("throttled", 1.0),
    ]


async def test_metrics_count_requests_and_retries():
    metrics = Metrics()
    await send("GET", TransportError("reset"), refusal(429, headers={"retry-after": "2"}), answer({}), metrics=metrics)
    assert metrics.observations == [
        ("GET", "scripted", "<error>", 0),
        ("retry", "GET", "<error>"),
        ("GET", "scripted", "429", 0),
        ("retry", "GET", "429"),
        ("GET", "scripted", "200", 0),
    ]


async def test_metrics_have_the_sizes_of_answered_requests():
    metrics = Metrics()
    refused, accepted = refusal(409), answer({})
    way = sender(ScriptedTransport(refused, accepted), FakeClock(), metrics=metrics)
    await way.request(Request("GET", "/x"))
    await way.request(Request("PUT", "/x", body=b"12345"))
    assert metrics.sizes == [("GET", None, len(refused.body)), ("PUT", 5, len(accepted.body))]


async def test_metrics_have_no_sizes_of_a_lost_answer():
    metrics = Metrics()
    await send("GET", TransportError("reset"), metrics=metrics, retry=RetryPolicy(retries_max=0))
    assert metrics.sizes == []


async def test_request_reports_warnings_and_sends_the_user_agent():
    received = []
    _, transport = await send("GET", answer({}, headers={"warning": '299 - "old"'}), on_warning=received.append)
    assert received == ["old"]
    assert transport.requests[0].headers["user-agent"] == "test"


REFUSED = TransportError("refused", before_sending=True)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
async def test_retry_policy_of_client_go_reports_a_refused_connection_at_once(method):
    task, transport = await send(method, REFUSED, seconds=0, retry=RetryPolicy(retry_failed_connections=False))
    with pytest.raises(RequestFailed, match="refused"):
        task.result()
    assert len(transport.requests) == 1


async def test_retry_policy_of_client_go_sends_a_read_again_after_a_broken_connection():
    retry = RetryPolicy(retry_failed_connections=False)
    task, transport = await send("GET", TransportError("reset"), answer({}), retry=retry)
    assert (task.result().status, len(transport.requests)) == (200, 2)


@pytest.mark.parametrize("step", [REFUSED, refusal(429, headers={"retry-after": "1"})])
async def test_retry_policy_without_retries_sends_once(step):
    task, transport = await send("GET", step, seconds=0, retry=RetryPolicy(retries_max=0))
    assert (task.done(), len(transport.requests)) == (True, 1)
    task.exception()


async def test_deadline_bounds_an_attempt_without_answer():
    task, _ = await send("GET", None, seconds=2, deadline_seconds=2)
    with pytest.raises(RequestTimedOut, match="GET /x: deadline of 2 seconds exceeded"):
        task.result()


async def test_deadline_bounds_a_call_with_its_retries():
    later = refusal(429, headers={"retry-after": "3"})
    task, transport = await send("PUT", later, later, None, seconds=10, deadline_seconds=10)
    with pytest.raises(RequestTimedOut, match="deadline of 10 seconds exceeded"):
        task.result()
    assert len(transport.requests) == 3


async def test_answer_is_final_when_its_retry_is_due_after_the_deadline():
    task, transport = await send("PUT", refusal(429, headers={"retry-after": "3"}), seconds=0, deadline_seconds=3)
    assert (task.result().status, len(transport.requests)) == (429, 1)


async def test_refused_connection_is_retried_until_the_deadline():
    task, transport = await send("PUT", *[REFUSED] * 5, seconds=2, deadline_seconds=2.5)
    with pytest.raises(RequestFailed, match="refused"):
        task.result()
    assert len(transport.requests) == 3


async def test_deadline_bounds_the_wait_for_the_rate_limit():
    clock = FakeClock()
    way = sender(ScriptedTransport(answer({})), clock, limiter=TokenBucket(0.1, 1, clock=clock))
    await way.request(Request("GET", "/x"))
    task = asyncio.ensure_future(way.with_options(deadline_seconds=2).request(Request("GET", "/x")))
    await clock.advance(2)
    with pytest.raises(RequestTimedOut, match="exceeded by the rate limiter"):
        task.result()


async def test_deadline_bounds_the_head_of_a_stream():
    class SilentTransport(ScriptedTransport):
        @asynccontextmanager
        async def open(self, request):
            yield await asyncio.get_running_loop().create_future()

    clock = FakeClock()
    context = sender(SilentTransport(), clock, deadline_seconds=2).open(Request("GET", "/x"))
    task = asyncio.ensure_future(context.__aenter__())
    await clock.advance(2)
    with pytest.raises(RequestTimedOut):
        task.result()


async def test_with_options_keeps_unset_options():
    clock, transport = FakeClock(), ScriptedTransport(REFUSED, None)
    once = sender(transport, clock, deadline_seconds=1).with_options(retry=RetryPolicy(retries_max=0))
    with pytest.raises(RequestFailed, match="refused"):
        await once.request(Request("GET", "/x"))
    task = asyncio.ensure_future(once.with_options().request(Request("GET", "/x")))
    await clock.advance(1)
    with pytest.raises(RequestTimedOut):
        task.result()
