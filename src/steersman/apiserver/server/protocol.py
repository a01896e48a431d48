"""uvicorn's HTTP/1.1 protocol with what it lacks: client certificates in the scope, and bounds for bad clients."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from steersman.apiserver.authn import distinguished_name

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.flow_control import FlowControl
    from uvicorn.server import ServerState

#: A request must be whole this long after its first byte. kube-apiserver allows 32 s for a head, 60 s for a request.
READ_SECONDS: Final = 60.0
#: A connection over which nothing was ever sent is closed after this long (kube-apiserver's idle timeout).
IDLE_SECONDS: Final = 90.0
#: A client that takes nothing for so long is cut off, so that what waits for it cannot pile up.
WRITE_STALL_SECONDS: Final = 60.0
#: URL and headers of one request together, as Go's ``DefaultMaxHeaderBytes``.
HEAD_BYTES_MAX: Final = 1 << 20
HEADERS_MAX: Final = 1000

_TLS_VERSIONS: Final = {"TLSv1.2": 0x0303, "TLSv1.3": 0x0304}


class Push:
    """Writes a piece of the chunked answer that is under way on a connection, without a task.

    The ASGI extension ``steersman.push``: streams that many events must go through at once take it instead of waking
    the task that sends them, half of whose cost is being woken.
    """

    __slots__ = ("_flow", "_transport")

    def __init__(self, transport: asyncio.Transport, flow: FlowControl) -> None:
        self._transport = transport
        self._flow = flow

    def __call__(self, piece: bytes) -> bool:
        """False, and nothing is written, when the client has not taken enough of what it got before."""
        if self._flow.write_paused or self._transport.is_closing():
            return False
        self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        return True


class Protocol(HttpToolsProtocol):
    """One connection."""

    _extensions: dict[str, Any]
    _read_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    #: Bytes of a head that is not whole yet; None outside of heads.
    _head_bytes: int | None = None
    #: A request has begun to arrive and is not whole.
    _receiving = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        self._extensions = {"steersman.push": Push(self.transport, self.flow), **_tls_extension(transport)}
        self._read_timer = self.loop.call_later(IDLE_SECONDS, self._cut_off)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_read_timer()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._receiving:
            if self._head_bytes is not None:
                self._head_bytes += len(data)
                if self._head_bytes > HEAD_BYTES_MAX:
                    self._refuse(431, b"Request Header Fields Too Large")
                    return
            if self._read_timer is None:
                self._read_timer = self.loop.call_later(READ_SECONDS, self._cut_off)
        elif self.cycle is not None and not self.cycle.response_complete:
            self._stop_read_timer()
        elif self._read_timer is None and self.timeout_keep_alive_task is None:
            # Bytes that begin no request (empty lines) end uvicorn's waiting for one, which must not last forever.
            self._read_timer = self.loop.call_later(IDLE_SECONDS, self._cut_off)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if not self._receiving:
            self._stop_read_timer()  # that of the idle connection
        self._receiving = True
        self._head_bytes = 0
        self.scope["extensions"] = self._extensions

    def on_headers_complete(self) -> None:
        self._head_bytes = None
        if len(self.headers) > HEADERS_MAX:
            raise httptools.HttpParserError("too many headers")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._receiving = False
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(WRITE_STALL_SECONDS, self._cut_off)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _unsupported_upgrade_warning(self) -> None:
        """Answer as if no upgrade were asked for, and close: what follows on the connection is not HTTP."""
        if self.cycle is not None:
            self.cycle.keep_alive = False
        self._receiving = False

    def _refuse(self, code: int, text: bytes) -> None:
        head = b"HTTP/1.1 %d %s\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n" % (code, text)
        body = b"%d %s" % (code, text)
        self.transport.write(b"%scontent-length: %d\r\n\r\n%s" % (head, len(body), body))
        self.transport.close()

    def _cut_off(self) -> None:
        self._read_timer = self._write_timer = None
        self.transport.abort()

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


def _tls_extension(transport: asyncio.Transport) -> dict[str, Any]:
    """The ASGI TLS extension (https://asgi.readthedocs.io/en/latest/specs/tls.html); nothing without TLS.

    Worked out once a connection. The server's own certificate is left out, as nobody asks for it.
    """
    tls = transport.get_extra_info("ssl_object")
    if tls is None:
        return {}
    certificate = tls.getpeercert(binary_form=True)
    chain = [ssl.DER_cert_to_PEM_cert(certificate)] if certificate else []
    subject = (tls.getpeercert() or {}).get("subject", ())
    extension = {
        "server_cert": None,
        "client_cert_chain": chain,
        "client_cert_name": distinguished_name.from_ssl(subject) if chain else None,
        "client_cert_error": None,
        "tls_version": _TLS_VERSIONS.get(tls.version()),
        "cipher_suite": None,
    }
    return {"tls": extension}


def new_protocol(config: Any, state: ServerState) -> Protocol:
    """A protocol for one connection of a server without lifespan."""
    return Protocol(config=config, server_state=state, app_state={})
