"""Standard streams of a command over the channels of a WebSocket (see ``channel_socket``).

Channels: standard input 0, output 1, error 2, status 3, terminal size 4. In version 5 clients can close a channel (KEP-4006).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.nodes.kubelet.client_input import Inbox, LatestSize, read_size
from steersman.nodes.kubelet.host import RequestError

if TYPE_CHECKING:
    from steersman.nodes.kubelet.channel_socket import ChannelSocket
    from steersman.nodes.kubelet.host import Size

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_CHUNK_BYTES: Final = 32 * 1024


class ChannelStreams:
    """The ``Streams`` of a WebSocket client."""

    def __init__(self, socket: ChannelSocket, *, stdin: bool, stdout: bool, stderr: bool, tty: bool) -> None:
        self.tty = tty
        self.wants_stdin = stdin
        self._socket = socket
        self._is_output_requested = {STDOUT: stdout, STDERR: stderr and not tty}
        self._input = Inbox()
        self._sizes = LatestSize()

    async def read(self) -> bytes:
        """Return the next chunk of standard input; empty at its end."""
        return await self._input.read()

    async def write(self, chunk: bytes, *, error: bool = False) -> None:
        """Send a chunk of standard output or error."""
        channel = STDERR if error and not self.tty else STDOUT
        if self._is_output_requested[channel]:
            for start in range(0, len(chunk), _CHUNK_BYTES):
                await self._socket.send(channel, chunk[start : start + _CHUNK_BYTES])

    async def next_size(self) -> Size:
        """Wait for the next size of the terminal."""
        return await self._sizes.get()

    async def open(self) -> bool:
        """Send an empty message on the first writable channel, which signals readiness. Returns True."""
        await self._socket.wait_for_reader()
        await self._socket.send(
            STDOUT if self._is_output_requested[STDOUT] else STDERR if self._is_output_requested[STDERR] else ERROR, b""
        )
        return True

    async def listen(self) -> None:
        """Receive messages until the client disconnects."""
        try:
            async for channel, data in self._socket.receive():
                await self._receive(channel, data)
        finally:
            await self._input.end()

    async def _receive(self, channel: int, data: bytes) -> None:
        if channel == STDIN and data and self.wants_stdin:
            await self._input.put(data)
        elif channel == CLOSE and data[:1] == bytes([STDIN]):
            await self._input.end()
        elif channel == RESIZE and (size := read_size(data)) is not None:
            self._sizes.put(size)

    async def end(self, outcome: int | RequestError) -> None:
        """Send the exit code or error."""
        message = end_message(outcome, as_status=self._socket.has_status)
        if message:
            await self._socket.send(ERROR, message)


def end_message(outcome: int | RequestError, *, as_status: bool) -> bytes:
    """Return the final message of the streams: a Status, or (in protocols before version 4) the text of a failure."""
    status = end_status(outcome)
    if as_status:
        return msgspec.json.encode(status)
    text: str = status.get("message", "")
    return text.encode()


def end_status(outcome: int | RequestError) -> dict[str, Any]:
    """Return the Status that ends the streams: the exit code of the command, or the error."""
    if outcome == 0:
        return {"metadata": {}, "status": "Success"}
    if isinstance(outcome, RequestError):
        message = f"Internal error occurred: {outcome}"
        cause = {"message": str(outcome)}
        return {
            "metadata": {}, "status": "Failure", "message": message, "reason": "InternalError",
            "details": {"causes": [cause]}, "code": 500,
        }  # fmt: skip
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {outcome}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(outcome)}]},
    }
