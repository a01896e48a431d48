"""Port forwarding over SPDY/3.1: each connection is a pair of streams, for its data and for an error message.

Upstream: ``k8s.io/cri-streaming/pkg/streaming/portforward/httpstream.go``.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from steersman.asynckit.tasks import Supervisor
from steersman.nodes.kubelet.spdy_session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.asynckit.clock import Clock
    from steersman.nodes.kubelet.port_forward import PortForwarder
    from steersman.nodes.kubelet.spdy_session import Connection, Stream

PORT_FORWARD_PROTOCOL: Final = "portforward.k8s.io"
#: Time for the client to create the second stream of a pair.
_CREATION_SECONDS: Final = 30.0
_PORT_MAX: Final = 65535

_log = logging.getLogger(__name__)


class _Pair:
    """Streams of one connection; complete when both exist."""

    def __init__(self) -> None:
        self.streams: dict[str, Stream] = {}


class SpdyForwarding:
    """A client's session of port forwarding. The number of streams is bounded by ``Session``."""

    def __init__(self, connection: Connection, forwarder: PortForwarder, *, clock: Clock) -> None:
        self._forwarder = forwarder
        self._clock = clock
        self._session = Session(connection, accepts=_is_valid, opened=self._opened, clock=clock)
        self._tasks = Supervisor("port forwarding")
        #: Incomplete pairs by the ID of their request.
        self._pairs: dict[str, _Pair] = {}

    async def run(self) -> None:
        """Run until the client disconnects."""
        try:
            await self._session.run()
        finally:
            await self._tasks.close()

    def _opened(self, stream: Stream) -> None:
        request, kind = _request_id(stream), stream.headers["streamtype"]
        pair = self._pairs.get(request)
        if pair is None:
            pair = self._pairs[request] = _Pair()
            self._tasks.start(f"request {request} expires", self._expire(request, pair))
        if kind in pair.streams:
            message = f"error processing stream for request {request}: {kind} stream already assigned"
            self._tasks.start(f"request {request} fails", self._refuse(stream, pair, message))
            return
        pair.streams[kind] = stream
        if len(pair.streams) == 2:
            del self._pairs[request]
            self._tasks.start(f"request {request}", self._forward(pair.streams["data"], pair.streams["error"]))

    async def _expire(self, request: str, pair: _Pair) -> None:
        await self._clock.sleep(_CREATION_SECONDS)
        if self._pairs.get(request) is not pair:
            return
        del self._pairs[request]
        message = f"(request={request}) timed out waiting for streams"
        _log.info("port forwarding: %s", message)
        for kind, stream in pair.streams.items():
            if kind == "error":
                await stream.write(message.encode())
            await stream.reset()

    async def _refuse(self, stream: Stream, pair: _Pair, message: str) -> None:
        _log.info("port forwarding: %s", message)
        if (errors := pair.streams.get("error")) is not None:
            await errors.write(message.encode())
        await stream.reset()

    async def _forward(self, data: Stream, errors: Stream) -> None:
        tasks = Supervisor(f"stream {data.id}")
        try:
            work = self._forwarder.forward(int(data.headers["port"]), data.read, data.write)
            forwarding = tasks.start("connection to the pod", work)
            resetting = tasks.start("reset by the client", data.was_reset.wait())
            await asyncio.wait([forwarding, resetting], return_when=asyncio.FIRST_COMPLETED)
            error = forwarding.result() if forwarding.done() else ""
        finally:
            await tasks.close()
        if error:
            _log.info("port forwarding: %s", error)
            await errors.write(error.encode())
            await data.reset()
            await errors.reset()
        await data.close()
        await errors.close()


def _is_valid(headers: Mapping[str, str]) -> bool:
    port = headers.get("port", "")
    is_port = port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= _PORT_MAX
    return is_port and headers.get("streamtype") in ("data", "error")


def _request_id(stream: Stream) -> str:
    """Return the ID of the stream's connection. Old clients send none, but open the error stream first."""
    request = stream.headers.get("requestid", "")
    return request or str(stream.id if stream.headers["streamtype"] == "error" else stream.id - 2)
