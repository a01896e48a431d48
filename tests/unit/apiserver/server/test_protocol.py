"""Pieces written to a connection without a task (limits and timers of connections are tested over real sockets)."""

import pytest

from steersman.apiserver.server.cycle import WRITE_BYTES_MAX
from steersman.apiserver.server.protocol import Push


class Transport:
    def __init__(self, *, closing: bool = False) -> None:
        self.closing = closing
        self.written = b""

    def is_closing(self) -> bool:
        return self.closing

    def write(self, data: bytes) -> None:
        self.written += data


class Flow:
    def __init__(self, *, paused: bool = False) -> None:
        self.write_paused = paused


def test_a_piece_is_a_chunk_of_the_answer():
    transport = Transport()
    assert Push(transport, Flow())(b"x" * 20)  # type: ignore[arg-type]
    assert transport.written == b"14\r\n" + b"x" * 20 + b"\r\n"


@pytest.mark.parametrize(("paused", "closing"), [(True, False), (False, True)])
def test_nothing_is_written_to_a_client_that_does_not_take_it(paused, closing):
    transport = Transport(closing=closing)
    assert not Push(transport, Flow(paused=paused))(b"x")  # type: ignore[arg-type]
    assert transport.written == b""


def test_push_leaves_a_large_piece_to_the_task():
    transport = Transport()
    push = Push(transport, Flow())  # type: ignore[arg-type]
    assert not push(b"x" * (WRITE_BYTES_MAX + 1))
    assert transport.written == b""


@pytest.mark.parametrize("paused", [True, False])
def test_push_reports_whether_the_connection_is_paused(paused):
    assert Push(Transport(), Flow(paused=paused)).is_paused is paused  # type: ignore[arg-type]
