"""Flow control of a transport, and pushed pieces."""

import asyncio

import pytest

from steersman.apiserver.server.http1.flow import Flow, Push
from steersman.apiserver.server.http1.limits import WRITE_BYTES_MAX
from steersman.apiserver.server.http1.response import ResponseWriter


class Transport:
    def __init__(self, *, closing: bool = False) -> None:
        self.closing = closing
        self.written = b""
        self.calls = []

    def is_closing(self) -> bool:
        return self.closing

    def write(self, data: bytes) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")


def test_reading_is_paused_and_resumed_once():
    flow = Flow(transport := Transport())  # type: ignore[arg-type]
    flow.resume_reading()
    for call in (flow.pause_reading, flow.pause_reading, flow.resume_reading, flow.resume_reading):
        call()
    assert transport.calls == ["pause", "resume"]


async def test_drain_returns_at_once_while_writing_is_not_paused():
    await Flow(Transport()).drain()  # type: ignore[arg-type]


async def test_drain_waits_for_every_pause_to_end():
    flow = Flow(Transport())  # type: ignore[arg-type]
    flow.pause_writing()
    waiting = [asyncio.create_task(flow.drain()) for _ in range(2)]
    await asyncio.sleep(0)  # noqa: TID251 — one pass of the loop
    flow.resume_writing()
    flow.pause_writing()
    await asyncio.sleep(0)  # noqa: TID251 — one pass of the loop
    assert not any(task.done() for task in waiting)
    flow.resume_writing()
    await asyncio.gather(*waiting)


def a_push(*, closing=False, paused=False, is_http10=False, started=True):
    transport = Transport(closing=closing)
    flow = Flow(transport)  # type: ignore[arg-type]
    if paused:
        flow.pause_writing()
    push = Push(transport, flow)  # type: ignore[arg-type]
    push.response = response = ResponseWriter(transport, is_head_request=False, is_http10=is_http10, keep_alive=True)  # type: ignore[arg-type]
    if started:
        response.begin(200, [], b"")
    transport.written = b""
    return push, transport


def test_pushed_piece_is_a_chunk_of_the_response():
    push, transport = a_push()
    assert push(b"x" * 20)
    assert transport.written == b"14\r\n" + b"x" * 20 + b"\r\n"


@pytest.mark.parametrize("state", ["closing", "paused", "is_http10"])
def test_push_writes_nothing_where_a_chunk_cannot_be_written(state):
    push, transport = a_push(**{state: True})
    assert not push(b"x")
    assert transport.written == b""


def test_push_writes_nothing_before_and_after_the_response():
    push, transport = a_push(started=False)
    assert not push(b"x")
    push, transport = a_push()
    push.response.write(b"", is_last=True)
    transport.written = b""
    assert not push(b"x")
    push.response = None
    assert not push(b"x")
    assert transport.written == b""


def test_push_leaves_a_large_piece_to_the_task():
    push, transport = a_push()
    assert not push(b"x" * (WRITE_BYTES_MAX + 1))
    assert transport.written == b""


@pytest.mark.parametrize("paused", [True, False])
async def test_push_reports_whether_the_connection_is_paused(paused):
    push, _ = a_push(paused=paused)
    assert push.is_paused is paused
    if not paused:
        await push.drained()
