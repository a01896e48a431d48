"""Standard streams of a command over SPDY/3.1: one stream each, and one for the result.

| protocol | sizes of the terminal | outcome |
| --- | --- | --- |
| ``v4.channel.k8s.io`` | yes | Status |
| ``v3.channel.k8s.io`` | yes | text, of failures only |
| ``v2.channel.k8s.io`` | no | text, of failures only |
| ``channel.k8s.io`` | no | as ``v2``, but the error stream is reset and standard input half-closed at once |

Upstream: ``k8s.io/cri-streaming/pkg/streaming/remotecommand/httpstream.go``.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import woken
from steersman.nodes.kubelet.channels import end_message
from steersman.nodes.kubelet.client_input import LatestSize, SizeReader
from steersman.nodes.kubelet.spdy_session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.asynckit.clock import Clock
    from steersman.nodes.kubelet.host import RequestError, Size
    from steersman.nodes.kubelet.spdy_session import Connection, Stream

V4: Final = "v4.channel.k8s.io"
V3: Final = "v3.channel.k8s.io"
V2: Final = "v2.channel.k8s.io"
V1: Final = "channel.k8s.io"
SPDY_PROTOCOLS: Final = (V4, V3, V2, V1)

#: Timeout for the client to create its streams.
_CREATION_SECONDS: Final = 30.0
#: Timeout for the client to read the rest of the output and disconnect; data that arrives at a closed socket would make the
#: kernel discard unsent data.
_FINISH_SECONDS: Final = 15 * 60.0

_log = logging.getLogger(__name__)


class SpdyStreams:
    """The ``Streams`` of a SPDY client."""

    def __init__(
        self, connection: Connection, protocol: str, *, stdin: bool, stdout: bool, stderr: bool, tty: bool, clock: Clock
    ) -> None:
        self.tty = tty
        self.wants_stdin = stdin
        self._protocol = protocol
        self._clock = clock
        has_sizes = tty and protocol in (V4, V3)
        requested = {"stdin": stdin, "stdout": stdout, "stderr": stderr and not tty, "resize": has_sizes}
        self._expected: Final = {"error", *(name for name, is_requested in requested.items() if is_requested)}
        self._streams: dict[str, Stream] = {}
        self._session = Session(connection, accepts=self._accepts, opened=self._opened, clock=clock)
        self._are_open = asyncio.Event()
        self._is_client_gone = asyncio.Event()
        self._sizes = LatestSize()

    def _accepts(self, headers: Mapping[str, str]) -> bool:
        name = headers.get("streamtype", "")
        return name in self._expected and name not in self._streams

    def _opened(self, stream: Stream) -> None:
        self._streams[stream.headers["streamtype"]] = stream
        if len(self._streams) == len(self._expected):
            self._are_open.set()

    async def listen(self) -> None:
        """Serve the session until the client disconnects."""
        tasks = Supervisor("SPDY streams")
        tasks.start("terminal sizes", self._read_sizes())
        try:
            await self._session.run()
        finally:
            self._is_client_gone.set()
            await tasks.close()

    async def _read_sizes(self) -> None:
        await self._are_open.wait()
        if (stream := self._streams.get("resize")) is None:
            return
        sizes = SizeReader()
        while data := await stream.read():
            for size in sizes.feed(data):
                self._sizes.put(size)

    async def open(self) -> bool:
        """Wait for the client to create its streams; return True if it has."""
        if not await woken(self._are_open, _CREATION_SECONDS, clock=self._clock):
            _log.info("timed out waiting for client to create streams")
            return False
        if self._protocol == V1:
            await self._streams["error"].reset()
            if "stdin" in self._streams:
                await self._streams["stdin"].close()
        return True

    async def read(self) -> bytes:
        """Return the next chunk of standard input; empty at its end."""
        return await self._streams["stdin"].read()

    async def write(self, chunk: bytes, *, error: bool = False) -> None:
        """Send a chunk of standard output or error."""
        stream = self._streams.get("stderr" if error and not self.tty else "stdout")
        if stream is not None:
            await stream.write(chunk)

    async def next_size(self) -> Size:
        """Wait for the next size of the terminal."""
        return await self._sizes.get()

    async def end(self, outcome: int | RequestError) -> None:
        """Send the exit code or error, end the output, and wait until the client disconnects."""
        for name in ("stdin", "resize"):
            if (stream := self._streams.get(name)) is not None:
                await stream.reset()
        await self._streams["error"].write(end_message(outcome, as_status=self._protocol == V4))
        for name in ("stdout", "stderr", "error"):
            if (stream := self._streams.get(name)) is not None:
                await stream.close()
        await woken(self._is_client_gone, _FINISH_SECONDS, clock=self._clock)
