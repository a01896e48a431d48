"""Protocol of one connection: requests in, one at a time, responses out; keep-alive, timeouts and refusals.

A connection is in one of four phases:

| phase | the next bytes | ends with |
| --- | --- | --- |
| ``HEAD`` | the head of the next request, or its first part | the empty line |
| ``BODY`` | the body of the request that is served | its last byte |
| ``ANSWER`` | kept: the next request, or another protocol after an upgrade | the end of the response |
| ``CLOSING`` | dropped | the end of the connection |

The application starts with the end of the head, and may end its response before the body is complete: then the rest of
the body is dropped.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import httptools

from steersman.apiserver.server.http1.accepted_headers import AcceptedHeaders, accepted_headers
from steersman.apiserver.server.http1.exchange import Exchange
from steersman.apiserver.server.http1.flow import Flow, Push
from steersman.apiserver.server.http1.handover import hand_over
from steersman.apiserver.server.http1.limits import (
    BODY_BYTES_MAX,
    DISCARDED_BYTES_MAX,
    HEAD_BYTES_MAX,
    HEADERS_MAX,
    PIPELINED_BYTES_MAX,
    WRITE_BYTES_MAX,
)
from steersman.apiserver.server.http1.request_body import ChunkedFraming, RequestBody, body_headers
from steersman.apiserver.server.http1.response import ResponseWriter
from steersman.apiserver.server.http1.rules import (
    BAD_REQUEST,
    BARE_LF,
    TOO_LARGE,
    escape_request_line,
    http_version,
    refusal_of_head,
    refusal_of_malformed_head,
    refusal_of_request_line,
    split_target,
)
from steersman.apiserver.server.http1.scope import RequestScopes
from steersman.apiserver.server.http1.timers import ConnectionTimers

if TYPE_CHECKING:
    from steersman.apiserver.server.http1.rules import Refusal
    from steersman.apiserver.server.http1.state import ServerState

HEAD: Final = 0
BODY: Final = 1
ANSWER: Final = 2
CLOSING: Final = 3


class ServerConnection:
    """Protocol of a connection, with the methods of ``asyncio.Protocol``: a subclass could not be compiled to a native
    class (decision 0006).
    """

    __slots__ = (
        "_accepted_headers",
        "_closed",
        "_discarded",
        "_exchange",
        "_framing",
        "_handshake",
        "_is_head_complete",
        "_is_line_checked",
        "_is_message_complete",
        "_is_raw_body",
        "_keeps_alive",
        "_loop",
        "_parser",
        "_phase",
        "_push",
        "_remaining_body_bytes",
        "_scopes",
        "_server",
        "_timers",
        "_unparsed",
        "flow",
        "headers",
        "transport",
        "url",
    )

    def __init__(self, server: ServerState) -> None:
        self._server = server
        self._handshake = server.handshakes.begin()
        self._loop = asyncio.get_running_loop()
        self._phase = HEAD
        #: Request in progress; None between requests.
        self._exchange: Exchange | None = None
        #: Set for a chunked body.
        self._framing: ChunkedFraming | None = None
        #: Remaining bytes of a body with Content-Length.
        self._remaining_body_bytes = 0
        #: The parser does not read this body.
        self._is_raw_body = False
        #: Bytes that cannot be parsed yet: an incomplete head, or data after the current request.
        self._unparsed = bytearray()
        #: The request line in ``_unparsed`` is well-formed.
        self._is_line_checked = False
        #: Received body bytes after the end of the response.
        self._discarded = 0
        self._is_head_complete = False
        self._is_message_complete = False
        self._keeps_alive = False
        #: Target and headers reported by the parser.
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self._accepted_headers: AcceptedHeaders | None = None
        self._timers = ConnectionTimers(server.clock, server.timeouts, abort=self._abort, close=self._close)
        #: Created when a caller waits for the end of the connection.
        self._closed: asyncio.Event | None = None
        self._parser: Any = httptools.HttpRequestParser(self)

    # Methods of asyncio.Protocol

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._server.handshakes.complete(self._handshake)
        self.transport = transport
        self.flow = Flow(transport)
        self._push = Push(transport, self.flow)
        extensions = {"steersman.push": self._push, "steersman.upgrade": self.hand_over}
        self._scopes = RequestScopes(transport, extensions)
        # The default is 512 KiB for a TLS connection, in addition to the buffer of its socket.
        transport.set_write_buffer_limits(high=WRITE_BYTES_MAX)
        self._server.connections.add(self)
        if self._server.is_draining:  # its TLS handshake ended after the listening socket was closed
            self._close()
        else:
            self._timers.expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._closed is not None:
            self._closed.set()
        if self._exchange is not None:
            self._exchange.disconnect()
        self._release()
        self.flow.resume_writing()

    def eof_received(self) -> None:
        """Treat a half-closed connection as closed, as net/http does."""

    def pause_writing(self) -> None:
        self.flow.pause_writing()
        self._timers.start_writing()

    def resume_writing(self) -> None:
        self.flow.resume_writing()
        if self._phase != CLOSING:
            self._timers.stop_writing()

    def data_received(self, data: bytes) -> None:
        phase = self._phase
        if phase == HEAD:
            self._timers.end_idleness()
            if self._unparsed:
                self._extend_head(data)
            else:
                self._parse(data)
        elif phase == BODY:
            self._parse(data)
        elif phase == ANSWER:
            self._append_unparsed(data)

    # Parsing

    def _parse(self, data: bytes) -> None:
        """Parse the bytes that belong to one request, and buffer the rest."""
        at = 0
        size = len(data)
        while at < size:
            if self._phase == HEAD:
                first = data[at]
                if not 0x20 < first < 0x7F:
                    if first in b"\r\n":  # empty lines before a request
                        at += 1
                        continue
                    self._refuse(BAD_REQUEST)  # another protocol, which may never end a line
                    break
                end = self._begin_repeated(data, at)
                if end < 0:
                    end = data.find(b"\r\n\r\n", at) + 4
                    if end < 4:
                        self._unparsed += data[at:]
                        self._check_partial_head(0)
                        break
                    self._parse_head(data if end - at == size else data[at:end])
                at = end
            elif self._phase == BODY:
                at = self._parse_body(data, at)
            else:
                if self._phase == ANSWER:
                    self._append_unparsed(data[at:])
                break
        self._update_read_timer()

    def _update_read_timer(self) -> None:
        """Run a timer while a head or body is incomplete; requests that arrive complete need none."""
        phase = self._phase
        if phase == HEAD:
            self._timers.expect_head()
        elif phase == BODY:
            self._timers.expect_body()
        elif phase != CLOSING:
            self._timers.stop_reading()

    def _begin_repeated(self, data: bytes, start: int) -> int:
        """Start the request at ``start`` if it repeats accepted headers; return the end of its head, else -1."""
        accepted = self._accepted_headers
        match = accepted.match(data, start) if accepted is not None else None
        if accepted is None or match is None:
            return -1
        end, method, path, query = match
        body: RequestBody | None = None
        if accepted.body_bytes:
            body = RequestBody(accepted.body_bytes)
            self._is_raw_body = True
            self._remaining_body_bytes = accepted.body_bytes
        scope = self._scopes.create(method.decode(), path, query, "1.1", list(accepted.headers))
        self._start_exchange(scope, body, keep_alive=True, expects_100=False)
        return end

    def _append_unparsed(self, data: bytes) -> None:
        self._unparsed += data
        if len(self._unparsed) > PIPELINED_BYTES_MAX:
            self.flow.pause_reading()

    def _extend_head(self, data: bytes) -> None:
        """Append to an incomplete head. Only new bytes are searched, so the cost is linear for packets of any size."""
        start = max(0, len(self._unparsed) - 3)
        self._unparsed += data
        if self._unparsed.find(b"\r\n\r\n", start) >= 0:
            self._parse(self._take_unparsed())
            return
        self._check_partial_head(start)
        self._update_read_timer()

    def _take_unparsed(self) -> bytes:
        unparsed = bytes(self._unparsed)
        self._unparsed.clear()
        self._is_line_checked = False
        return unparsed

    def _check_partial_head(self, start: int) -> None:
        """Reject an incomplete head that cannot become valid, with the response to the complete one."""
        unparsed = self._unparsed
        if not self._is_line_checked:
            end = unparsed.find(b"\n", start) + 1
            if end:
                self._is_line_checked = True
                refusal = refusal_of_request_line(bytes(unparsed[:end]))
                if refusal is not None:
                    self._refuse(refusal)
                    return
        if len(unparsed) > HEAD_BYTES_MAX:
            self._refuse(TOO_LARGE)
            return
        has_bare_lf = BARE_LF.search(unparsed, start) is not None
        if has_bare_lf:
            self._parse_head(self._take_unparsed())

    def _parse_head(self, head: bytes) -> None:
        """Parse a complete head and start its request, or reject it."""
        if len(head) > HEAD_BYTES_MAX:
            self._refuse(refusal_of_request_line(head[: head.find(b"\n") + 1]) or TOO_LARGE)
            return
        if not head.isascii():
            head = escape_request_line(head)
        self.url = b""
        self.headers = []
        self._is_head_complete = False
        self._is_message_complete = False
        is_upgrade = False
        try:
            self._parser.feed_data(head)
        except httptools.HttpParserUpgrade:
            is_upgrade = True
        except httptools.HttpParserError:
            self._refuse(refusal_of_malformed_head(head))
            return
        if not self._is_head_complete:  # the HTTP/2 preface, which continues after the empty line
            self._refuse(refusal_of_malformed_head(head))
            return
        self._begin_request(head, is_upgrade=is_upgrade)

    def _begin_request(self, head: bytes, *, is_upgrade: bool) -> None:
        """Start the application for the parsed head."""
        headers = self.headers
        method: bytes = self._parser.get_method()
        line_end = head.find(b"\r")
        version = "1.1" if head.startswith(b" HTTP/1.1", line_end - 9) else http_version(head[:line_end])
        refusal = refusal_of_head(method, self.url, version, headers) if len(headers) <= HEADERS_MAX else TOO_LARGE
        target = split_target(self.url)
        if refusal is not None or target is None:
            self._refuse(refusal or BAD_REQUEST)
            return
        body: RequestBody | None = None
        length: int | None = 0
        expects_100 = False
        if is_upgrade or not self._is_message_complete:
            length, expects_100 = body_headers(headers)
            if is_upgrade and length is None and any(name == b"transfer-encoding" for name, _ in headers):
                self._refuse(BAD_REQUEST)  # the parser would treat the body as bytes of the other protocol
                return
            if length != 0 and not (is_upgrade and length is None):
                body = RequestBody(length or 0)
                self._is_raw_body = is_upgrade
                if length is None:
                    self._framing = ChunkedFraming()
                    self.headers = []  # trailers, which are dropped
                else:
                    self._remaining_body_bytes = length
        keep_alive = self._keeps_alive and not is_upgrade
        if keep_alive and version == "1.1" and length is not None and not expects_100:
            self._accepted_headers = accepted_headers(head, headers, length)
        scope = self._scopes.create(method.decode("ascii"), *target, version, headers)
        self._start_exchange(scope, body, keep_alive=keep_alive, expects_100=expects_100)

    def _start_exchange(
        self, scope: dict[str, Any], body: RequestBody | None, *, keep_alive: bool, expects_100: bool
    ) -> None:
        """Start the application."""
        server = self._server
        is_http10 = scope["http_version"] == "1.0"
        response = ResponseWriter(
            self.transport,
            is_head_request=scope["method"] == "HEAD",
            is_http10=is_http10,
            keep_alive=keep_alive,
        )
        self._exchange = exchange = Exchange(
            scope,
            body,
            response,
            self.flow,
            date_line=server.date_line,
            expects_100=expects_100 and body is not None and not is_http10,
            on_response=self._on_response,
        )
        self._push.response = response
        self._phase = ANSWER if body is None else BODY
        task = self._loop.create_task(self._serve(exchange))
        # Passed to the application too, as asyncio.current_task is a system call before Python 3.12.
        scope["steersman.task"] = task
        server.tasks.add(task)

    async def _serve(self, exchange: Exchange) -> None:
        try:
            await exchange.run(self._server.app)
        finally:
            # Done here instead of in a callback of the task, which would cost another iteration of the loop.
            self._server.tasks.discard(exchange.scope["steersman.task"])

    def _parse_body(self, data: bytes, start: int) -> int:
        """Parse bytes of the body, and return the position after them."""
        framing = self._framing
        if framing is None:
            end = min(len(data), start + self._remaining_body_bytes)
            self._remaining_body_bytes -= end - start
        else:
            end = framing.next_end(data, start)
        part = data if end - start == len(data) else data[start:end]
        if self._is_raw_body:
            self.on_body(part)
            self._is_message_complete = self._remaining_body_bytes == 0
        else:
            try:
                self._parser.feed_data(part)
            except httptools.HttpParserError:
                self._refuse_body()
                return end
        if framing is not None and framing.has_excess:
            self._refuse_body()
            return end
        if self._is_message_complete:
            self._end_body()
        elif framing is None and self._remaining_body_bytes == 0:
            self._refuse_body()
        elif self._discarded > DISCARDED_BYTES_MAX:
            self._close()
        return end

    def _end_body(self) -> None:
        """Complete the request; continue if the response is complete already."""
        exchange = self._exchange
        assert exchange is not None
        assert exchange.body is not None
        self._framing = None
        self._phase = ANSWER
        exchange.body.is_complete = True
        exchange.notify()
        if exchange.response.is_complete:
            self._discarded = 0
            self._next_request()

    # Callbacks of httptools

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if self._is_head_complete:
            raise httptools.HttpParserError("a second head within a message")
        self._is_head_complete = True
        self._keeps_alive = self._parser.should_keep_alive()

    def on_chunk_header(self) -> None:
        if self._framing is not None:
            self._framing.add_chunk()

    def on_body(self, body: bytes) -> None:
        if self._phase == HEAD:
            raise httptools.HttpParserError("a body within a head")
        if self._framing is not None:
            self._framing.add_data(len(body))
        exchange = self._exchange
        assert exchange is not None
        request_body = exchange.body
        if exchange.response.is_complete or exchange.is_disconnected or request_body is None:
            self._discarded += len(body)
            return
        request_body.add(body)
        if request_body.size > BODY_BYTES_MAX:
            self.flow.pause_reading()
        exchange.notify()

    def on_message_complete(self) -> None:
        self._is_message_complete = True

    # Responses and the end of the connection

    def _on_response(self) -> None:
        """Continue with the next request, or close, after a complete response."""
        exchange = self._exchange
        if self.transport.is_closing() or exchange is None:
            return
        if not exchange.response.keep_alive or self._phase == CLOSING:
            self._close(has_unread=self._phase == CLOSING)
        elif self._phase == BODY:
            self.flow.resume_reading()
        else:
            self._next_request()

    def _next_request(self) -> None:
        """Parse the bytes that follow the last request, or wait for data."""
        self._exchange = None
        self._phase = HEAD
        self.flow.resume_reading()
        if self._unparsed:
            self._parse(self._take_unparsed())
            return
        self._timers.begin_idleness()

    def shut_down(self) -> None:
        """Close the connection after the current response, or at once without one."""
        exchange = self._exchange
        if self._phase == CLOSING:
            return
        if exchange is None or exchange.response.is_complete:
            self._close()
        else:
            exchange.response.keep_alive = False

    @property
    def has_unsent(self) -> bool:
        """True while a response that is complete has not been written."""
        return self.transport.get_write_buffer_size() > 0

    async def closed(self) -> None:
        """Return when the connection is lost. For one caller."""
        self._closed = asyncio.Event()
        await self._closed.wait()

    def hand_over(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Hand over the connection to another protocol (ASGI extension ``steersman.upgrade``); the caller closes it."""
        self._phase = CLOSING
        self.flow.resume_reading()
        if self._exchange is not None:
            self._exchange.disconnect()
        received = self._take_unparsed()
        self._release()
        return hand_over(self.transport, self._loop, received)

    def _refuse(self, refusal: Refusal) -> None:
        """Respond to a rejected request and close the connection."""
        self.transport.write(refusal.encode())
        self._close(has_unread=True)

    def _refuse_body(self) -> None:
        """Reject a malformed body: with 400 if the response has not started."""
        exchange = self._exchange
        assert exchange is not None
        response = exchange.response
        if response.is_complete:
            self._close()
        elif response.is_started:
            response.keep_alive = False
            self._phase = CLOSING
            exchange.cut()
        else:
            exchange.disconnect()
            self._refuse(BAD_REQUEST)

    def _close(self, *, has_unread: bool = False) -> None:
        """Close the connection once the client has the written data.

        Closing a socket with unread data resets the connection, and the client might lose the response (RFC 9112, 9.6);
        so unread data is read and dropped for a moment.
        """
        has_unread = has_unread or self._phase == BODY or bool(self._unparsed)
        self._phase = CLOSING
        self._timers.end_idleness()
        self._unparsed.clear()
        self._timers.stop_reading()
        self.flow.resume_reading()
        if not has_unread:
            self._close_transport()
            return
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._timers.linger(self._close_transport)

    def _close_transport(self) -> None:
        if self.transport.is_closing():
            return  # asyncio's TLS transport cannot be used after a second call
        if self.transport.get_write_buffer_size():
            self._timers.start_writing()
        self.transport.close()

    def _abort(self) -> None:
        self.transport.abort()

    def _release(self) -> None:
        """Release everything that outlives the connection, and what would keep it in reference cycles."""
        self._server.connections.discard(self)
        self._timers.release()
        self._phase = CLOSING
        self._parser = self._exchange = None
        self._scopes.release()
