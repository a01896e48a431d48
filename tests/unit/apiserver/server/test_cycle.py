"""Messages of an application become bytes of HTTP/1.1 (whole exchanges are tested over real sockets)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.apiserver.server.cycle import WRITE_BYTES_MAX, Cycle

OK = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}


class Transport:
    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


class Flow:
    """Pauses after a number of writes, if one is given."""

    def __init__(self, transport: Transport, pauses_after: int | None = None) -> None:
        self._transport = transport
        self._pauses_after = pauses_after
        self._resumed = asyncio.Event()

    @property
    def write_paused(self) -> bool:
        return self._pauses_after is not None and len(self._transport.writes) >= self._pauses_after

    async def drain(self) -> None:
        await self._resumed.wait()

    def resume_writing(self) -> None:
        self._pauses_after = None
        self._resumed.set()

    def resume_reading(self) -> None: ...


def a_cycle(
    *, method: str = "GET", keep_alive: bool = True, expects_100: bool = False, flow: Flow | None = None
) -> tuple[Cycle, Transport]:
    transport = Transport() if flow is None else flow._transport
    cycle = Cycle(
        {"method": method},
        transport,  # type: ignore[arg-type]  # what is asked of it
        flow or Flow(transport),  # type: ignore[arg-type]  # the same
        standard_headers=[(b"date", b"now")],
        expects_100=expects_100,
        keep_alive=keep_alive,
        on_response=lambda: None,
    )
    return cycle, transport


def start(*headers: tuple[bytes, bytes], code: int = 200) -> dict[str, Any]:
    return {"type": "http.response.start", "status": code, "headers": list(headers)}


def body(piece: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": piece, "more_body": more}


async def test_an_answer_of_known_length_is_one_write():
    cycle, transport = a_cycle()
    await cycle.send(OK)
    assert transport.writes == []
    await cycle.send(body(b"hi"))
    assert transport.writes == [b"HTTP/1.1 200 OK\r\ndate: now\r\ncontent-length: 2\r\n\r\nhi"]
    assert cycle.response_complete
    assert not transport.closed


async def test_cycle_writes_a_large_body_in_parts():
    cycle, transport = a_cycle()
    large = bytes(range(250)) * 1000
    await cycle.send(start((b"content-length", b"250000")))
    await cycle.send(body(large))
    head, _, rest = b"".join(transport.writes).partition(b"\r\n\r\n")
    assert rest == large
    assert max(map(len, transport.writes)) == len(head) + 4 + WRITE_BYTES_MAX
    assert cycle.response_complete


async def test_cycle_writes_a_large_piece_as_several_chunks():
    cycle, transport = a_cycle()
    await cycle.send(start())
    await cycle.send(body(b"x" * (WRITE_BYTES_MAX + 1), more=True))
    assert transport.writes[1:] == [b"10000\r\n" + b"x" * WRITE_BYTES_MAX + b"\r\n", b"1\r\nx\r\n"]
    assert not cycle.response_complete


async def test_cycle_writes_no_further_part_to_a_client_that_does_not_read():
    flow = Flow(Transport(), pauses_after=3)
    cycle, transport = a_cycle(flow=flow)
    await cycle.send(start())
    sending = asyncio.create_task(cycle.send(body(b"x" * (10 * WRITE_BYTES_MAX))))
    await asyncio.sleep(0)  # noqa: TID251 — one turn of the loop
    assert len(transport.writes) == 3
    flow.resume_writing()
    await sending
    assert len(transport.writes) == 1 + 10


async def test_cycle_drops_the_rest_of_a_body_when_the_connection_is_lost():
    flow = Flow(Transport(), pauses_after=3)
    cycle, transport = a_cycle(flow=flow)
    await cycle.send(start())
    sending = asyncio.create_task(cycle.send(body(b"x" * (10 * WRITE_BYTES_MAX))))
    await asyncio.sleep(0)  # noqa: TID251 — one turn of the loop
    cycle.disconnected = True
    flow.resume_writing()
    await sending
    assert len(transport.writes) == 3


async def test_without_a_length_the_head_goes_out_at_once_and_pieces_are_chunks():
    cycle, transport = a_cycle()
    await cycle.send(start())
    assert transport.writes == [b"HTTP/1.1 200 OK\r\ndate: now\r\ntransfer-encoding: chunked\r\n\r\n"]
    await cycle.send(body(b"hello", more=True))
    await cycle.send(body(b""))
    assert transport.writes[1:] == [b"5\r\nhello\r\n", b"0\r\n\r\n"]


async def test_a_head_only_has_no_body():
    cycle, transport = a_cycle(method="HEAD")
    await cycle.send(OK)
    await cycle.send(body(b"hi"))
    assert transport.writes[0].endswith(b"content-length: 2\r\n\r\n")


@pytest.mark.parametrize(("keep_alive", "headers"), [(False, []), (True, [(b"connection", b"close")])])
async def test_a_connection_that_is_not_kept_is_closed_and_says_so_once(keep_alive, headers):
    cycle, transport = a_cycle(keep_alive=keep_alive)
    await cycle.send(start((b"content-length", b"0"), *headers))
    await cycle.send(body(b""))
    assert transport.writes[0].count(b"connection: close") == 1
    assert transport.closed


@pytest.mark.parametrize("value", [b"a\r\nb: c", b"a\nb", b"a\rb", b"a\0b"])
async def test_no_header_ends_its_line(value):
    cycle, transport = a_cycle()
    with pytest.raises(RuntimeError, match="end of a line"):
        await cycle.send(start((b"x", value)))
    assert transport.writes == []


@pytest.mark.parametrize(("piece", "why"), [(b"h", "shorter"), (b"hey", "longer")])
async def test_a_body_has_the_length_that_was_promised(piece, why):
    cycle, _ = a_cycle()
    await cycle.send(OK)
    with pytest.raises(RuntimeError, match=why):
        await cycle.send(body(piece))


@pytest.mark.parametrize("messages", [[body(b"")], [OK, OK], [start((b"content-length", b"0")), body(b""), body(b"")]])
async def test_messages_out_of_order_are_refused(messages):
    cycle, _ = a_cycle()
    for message in messages[:-1]:
        await cycle.send(message)
    with pytest.raises(RuntimeError, match="out of order"):
        await cycle.send(messages[-1])


async def test_what_has_come_is_received_without_waiting():
    cycle, _ = a_cycle()
    cycle.body, cycle.more_body = b"all", False
    cycle.set()
    assert await cycle.receive() == {"type": "http.request", "body": b"all", "more_body": False}


async def test_who_waits_for_more_is_told_of_the_end():
    cycle, _ = a_cycle()
    waiting = asyncio.ensure_future(cycle.receive())
    await asyncio.sleep(0)  # noqa: TID251 — a turn of the loop
    cycle.disconnected = True
    cycle.set()
    assert await waiting == {"type": "http.disconnect"}


async def test_a_client_that_asks_first_is_told_to_go_on_once_the_body_is_wanted():
    cycle, transport = a_cycle(expects_100=True)
    cycle.set()
    await cycle.receive()
    assert transport.writes == [b"HTTP/1.1 100 Continue\r\n\r\n"]


async def test_a_fault_is_500_and_ends_the_connection(caplog):
    async def faulty(*_: object) -> None:
        raise ValueError("no")

    cycle, transport = a_cycle()
    await cycle.run(faulty)
    assert transport.writes[0].startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert transport.closed
    assert "the application failed" in caplog.text


async def test_a_fault_in_the_middle_of_an_answer_breaks_it_off(caplog):
    async def faulty(_: object, __: object, send: Any) -> None:
        await send(start())
        raise ValueError("no")

    cycle, transport = a_cycle()
    await cycle.run(faulty)
    assert transport.closed
    assert len(transport.writes) == 1
    assert "the application failed" in caplog.text
