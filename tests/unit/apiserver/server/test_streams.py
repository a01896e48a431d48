"""Bookkeeping of streams (how they end: ``test_app``)."""

import asyncio

import pytest
from tests.busy_machine import advance_until

from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import RequestInfo
from steersman.apiserver.server import streams as streams_module
from steersman.apiserver.server.streams import Streams, task_of
from steersman.asynckit.clock import FakeClock


async def _never():
    await asyncio.Event().wait()


def request(verb, task=None):
    scope = {"method": "GET", "path": "/", "query_string": b"", "headers": [], "steersman.task": task}
    new_request = Request(scope, _never)
    new_request.info = RequestInfo(verb, "/api/v1/pods", True, "", "v1", "", "pods", "", "")
    return new_request


async def _endless():
    yield b"piece"
    await asyncio.Event().wait()


@pytest.fixture
async def sending():
    """Start to send an endless stream; it ends with the test."""
    tasks = []

    async def begin(streams, verb):
        sent = asyncio.Queue()
        tasks.append(asyncio.create_task(streams.send(request(verb), Response(200, stream=_endless()), sent.put)))
        assert (await sent.get())["body"] == b"piece"
        return tasks[-1], sent

    yield begin
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_end_watches_does_not_end_lists(sending):
    streams = Streams()
    watch, sent = await sending(streams, "watch")
    listing, _ = await sending(streams, "list")
    assert len(streams) == 2
    streams.end_watches()
    await watch
    assert await sent.get() == {"type": "http.response.body", "body": b"", "more_body": False}
    assert not listing.done()
    assert len(streams) == 1


async def test_drain_watches_ends_watches_at_a_rate_and_later_ones_at_once(sending, monkeypatch):
    monkeypatch.setattr(streams_module, "_WATCHES_PER_SECOND_MIN", 10.0)
    streams, clock = Streams(), FakeClock()
    watches = [(await sending(streams, "watch"))[0] for _ in range(4)]
    listing, _ = await sending(streams, "list")
    draining = asyncio.create_task(streams.drain_watches(0.2, clock=clock))
    await asyncio.wait(watches[:2])
    assert not any(task.done() for task in (*watches[2:], draining))
    late, _ = await sending(streams, "watch")
    await late
    await advance_until(lambda: draining.done() and all(task.done() for task in watches), clock)
    assert not listing.done()


async def test_drain_watches_without_a_period_ends_all_at_once(sending):
    streams = Streams()
    watches = [(await sending(streams, "watch"))[0] for _ in range(3)]
    await streams.drain_watches(0, clock=FakeClock())
    await asyncio.wait(watches)
    await streams.drain_watches(1, clock=FakeClock())


async def test_cancellation_from_outside_propagates(sending):
    streams = Streams()
    watch, _ = await sending(streams, "watch")
    watch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watch
    assert len(streams) == 0


async def test_task_of_is_task_of_connection_or_current_task():
    task = asyncio.current_task()
    assert task_of(request("get")) is task
    other = asyncio.create_task(_never())
    assert task_of(request("get", other)) is other
    other.cancel()


async def _failing():
    yield b"piece"
    raise RuntimeError


async def test_response_that_an_error_cuts_off_is_reported():
    sent, aborted = asyncio.Queue(), []
    listing = request("list")
    listing.audit_id = "id"
    await Streams(aborted.append).send(listing, Response(200, stream=_failing()), sent.put)
    assert aborted == [listing.info]
