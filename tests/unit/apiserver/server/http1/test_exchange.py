"""ASGI messages of an application as bytes of HTTP/1.1 (whole exchanges over sockets: ``test_serving``)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.apiserver.server.http1.exchange import Exchange
from steersman.apiserver.server.http1.flow import Flow
from steersman.apiserver.server.http1.limits import WRITE_BYTES_MAX
from steersman.apiserver.server.http1.request_body import RequestBody
from steersman.apiserver.server.http1.response import ResponseWriter

OK = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}


class Transport:
    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = False
        self.reads = True
        self.flow: Flow | None = None
        self.pauses_after: int | None = None

    def write(self, data: bytes) -> None:
        self.writes.append(data)
        if self.flow is not None and len(self.writes) == self.pauses_after:
            self.flow.pause_writing()

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def an_exchange(
    *, body: RequestBody | None = None, expects_100: bool = False, pauses_after: int | None = None
) -> tuple[Exchange, Transport, list[str]]:
    """Return an exchange over a transport that pauses after a number of writes, and its calls of ``on_response``."""
    transport = Transport()
    transport.flow = flow = Flow(transport)  # type: ignore[arg-type]  # the methods that are called
    transport.pauses_after = pauses_after
    ended: list[str] = []
    response = ResponseWriter(transport, is_head_request=False, is_http10=False, keep_alive=True)  # type: ignore[arg-type]
    exchange = Exchange(
        {"method": "GET"},
        body,
        response,
        flow,
        date_line=b"date: now\r\n",
        expects_100=expects_100,
        on_response=lambda: ended.append("ended"),
    )
    return exchange, transport, ended


def start(*headers: tuple[bytes, bytes], code: int = 200) -> dict[str, Any]:
    return {"type": "http.response.start", "status": code, "headers": list(headers)}


def body(piece: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": piece, "more_body": more}


async def one_pass() -> None:
    await asyncio.sleep(0)  # noqa: TID251 — one pass of the loop


async def test_response_of_known_length_is_one_write_and_ends_the_exchange_once():
    exchange, transport, ended = an_exchange()
    await exchange.send(OK)
    assert transport.writes == []
    await exchange.send(body(b"hi"))
    assert transport.writes == [b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ndate: now\r\n\r\nhi"]
    assert ended == ["ended"]


async def test_send_writes_a_large_body_in_parts():
    exchange, transport, ended = an_exchange()
    large = bytes(range(250)) * 1000
    await exchange.send(start((b"content-length", b"250000")))
    await exchange.send(body(large))
    head, _, rest = b"".join(transport.writes).partition(b"\r\n\r\n")
    assert rest == large
    assert max(map(len, transport.writes)) == len(head) + 4 + WRITE_BYTES_MAX
    assert ended == ["ended"]


async def test_send_lets_the_loop_run_between_parts_of_a_large_body():
    exchange, transport, _ = an_exchange()
    size = 20 * WRITE_BYTES_MAX
    await exchange.send(start((b"content-length", b"%d" % size)))
    task = asyncio.create_task(exchange.send(body(bytes(size))))
    writes = []
    while not task.done():
        await asyncio.sleep(0)  # noqa: TID251 — one turn of the loop
        writes.append(len(transport.writes))
    assert len(set(writes)) == 3
    assert sum(map(len, transport.writes)) > size


async def test_send_writes_a_large_part_as_several_chunks():
    exchange, transport, ended = an_exchange()
    await exchange.send(start())
    await exchange.send(body(b"x" * (WRITE_BYTES_MAX + 1), more=True))
    assert transport.writes[1:] == [b"10000\r\n" + b"x" * WRITE_BYTES_MAX + b"\r\n", b"1\r\nx\r\n"]
    assert ended == []


async def test_send_writes_no_further_part_to_a_client_that_does_not_read():
    exchange, transport, ended = an_exchange(pauses_after=3)
    await exchange.send(start())
    sending = asyncio.create_task(exchange.send(body(b"x" * (10 * WRITE_BYTES_MAX))))
    await one_pass()
    assert len(transport.writes) == 3
    transport.flow.resume_writing()
    await sending
    assert len(transport.writes) == 1 + 10
    assert ended == ["ended"]


async def test_send_drops_the_rest_of_a_body_when_the_connection_is_lost():
    exchange, transport, ended = an_exchange(pauses_after=3)
    await exchange.send(start())
    sending = asyncio.create_task(exchange.send(body(b"x" * (10 * WRITE_BYTES_MAX))))
    await one_pass()
    exchange.disconnect()
    transport.flow.resume_writing()
    await sending
    assert len(transport.writes) == 3
    assert ended == []


async def test_send_to_a_lost_connection_lets_other_tasks_run():
    exchange, transport, _ = an_exchange()
    exchange.disconnect()

    async def endless() -> None:
        while True:
            await exchange.send(body(b"x", more=True))

    sending = asyncio.create_task(endless())
    await one_pass()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert transport.writes == []


@pytest.mark.parametrize("messages", [[body(b"")], [OK, OK], [start((b"content-length", b"0")), body(b""), body(b"")]])
async def test_messages_out_of_order_are_refused(messages):
    exchange, _, _ = an_exchange()
    for message in messages[:-1]:
        await exchange.send(message)
    with pytest.raises(RuntimeError, match="out of order"):
        await exchange.send(messages[-1])


async def test_request_without_a_body_is_received_at_once():
    exchange, _, _ = an_exchange()
    assert await exchange.receive() == {"type": "http.request", "body": b"", "more_body": False}


async def test_body_is_received_in_pieces():
    exchange, transport, _ = an_exchange(body=(received := RequestBody()))
    received.add(b"a")
    received.add(b"b")
    transport.flow.pause_reading()
    assert await exchange.receive() == {"type": "http.request", "body": b"ab", "more_body": True}
    assert transport.reads
    waiting = asyncio.ensure_future(exchange.receive())
    await one_pass()
    received.add(b"c")
    received.is_complete = True
    exchange.notify()
    assert await waiting == {"type": "http.request", "body": b"c", "more_body": False}


@pytest.mark.parametrize("end", ["cut", "disconnect"])
async def test_waiting_receive_returns_the_end_of_the_request(end):
    exchange, _, _ = an_exchange(body=RequestBody())
    waiting = asyncio.ensure_future(exchange.receive())
    await one_pass()
    getattr(exchange, end)()
    assert await waiting == {"type": "http.disconnect"}


async def test_waiting_receive_returns_when_the_response_is_complete():
    exchange, _, _ = an_exchange()
    await exchange.receive()
    waiting = asyncio.ensure_future(exchange.receive())
    await one_pass()
    await exchange.send(OK)
    await exchange.send(body(b"hi"))
    assert await waiting == {"type": "http.disconnect"}


async def test_response_may_be_sent_for_a_request_that_was_cut():
    exchange, transport, ended = an_exchange(body=RequestBody())
    exchange.cut()
    await exchange.send(OK)
    await exchange.send(body(b"hi"))
    assert transport.writes[0].endswith(b"hi")
    assert ended == ["ended"]


async def test_100_continue_is_written_once_when_the_application_waits_for_the_body():
    exchange, transport, _ = an_exchange(body=(received := RequestBody()), expects_100=True)
    for part in (b"a", b"b"):
        waiting = asyncio.ensure_future(exchange.receive())
        await one_pass()
        assert transport.writes == [b"HTTP/1.1 100 Continue\r\n\r\n"]
        received.add(part)
        exchange.notify()
        assert (await waiting)["body"] == part


async def test_100_continue_is_not_written_for_a_body_that_came_without_it():
    exchange, transport, _ = an_exchange(body=(received := RequestBody()), expects_100=True)
    received.add(b"a")
    assert (await exchange.receive())["body"] == b"a"
    assert transport.writes == []


async def test_response_in_place_of_100_continue_ends_the_connection():
    exchange, transport, _ = an_exchange(body=RequestBody(), expects_100=True)
    await exchange.send(OK)
    await exchange.send(body(b"no"))
    assert b"connection: close\r\n" in transport.writes[0]
    assert not exchange.response.keep_alive


async def test_exception_of_the_application_is_500_and_ends_the_connection(caplog):
    async def faulty(*_: object) -> None:
        raise ValueError("no")

    exchange, transport, ended = an_exchange()
    await exchange.run(faulty)
    assert transport.writes[0].startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert b"connection: close\r\n" in transport.writes[0]
    assert ended == ["ended"]
    assert "the application failed" in caplog.text


async def test_exception_within_a_response_breaks_it_off(caplog):
    async def faulty(_: object, __: object, send: Any) -> None:
        await send(start())
        raise ValueError("no")

    exchange, transport, ended = an_exchange()
    await exchange.run(faulty)
    assert transport.closed
    assert len(transport.writes) == 1
    assert ended == []
    assert "the application failed" in caplog.text


async def test_cancelled_application_ends_the_connection():
    async def endless(*_: object) -> None:
        await asyncio.Event().wait()

    exchange, transport, _ = an_exchange()
    running = asyncio.create_task(exchange.run(endless))
    await one_pass()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert transport.closed
