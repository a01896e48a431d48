"""Streams over a WebSocket: each message begins with the number of its channel (``v5.channel.k8s.io`` and ``v4``).

Standard input is 0, output 1, error 2; on 3 the end is told as a Status, on 4 the terminal's size. Version 5 lets the
client close a channel (KEP-4006). Text messages of ``v4.base64.channel.k8s.io`` are not spoken.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import WSMsgType

from steersman.nodes.kubelet.hosting import Refusal, Size

if TYPE_CHECKING:
    from aiohttp.web import WebSocketResponse

V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
#: Pieces of standard input that wait for who reads it; the client waits when there are more.
_PIECES_MAX: Final = 16
_PIECE_BYTES: Final = 32 * 1024


class ChannelStreams:
    """The ``Streams`` of a command whose client is at the other end of a WebSocket."""

    def __init__(self, socket: WebSocketResponse, *, stdin: bool, stdout: bool, stderr: bool, tty: bool) -> None:
        self.tty = tty
        self.wants_stdin = stdin
        self._socket = socket
        self._shown = {STDOUT: stdout, STDERR: stderr and not tty}
        self._input: asyncio.Queue[bytes] = asyncio.Queue(_PIECES_MAX)
        #: The newest size replaces one that nobody has asked for.
        self._sizes: asyncio.Queue[Size] = asyncio.Queue(1)
        self._sending = asyncio.Lock()
        self._input_ended = False

    async def read(self) -> bytes:
        """The next piece of standard input; empty at its end."""
        if self._input_ended:
            return b""
        piece = await self._input.get()
        self._input_ended = not piece
        return piece

    async def write(self, piece: bytes, *, error: bool = False) -> None:
        """A piece of standard output or of standard error."""
        channel = STDERR if error and not self.tty else STDOUT
        if self._shown[channel]:
            for start in range(0, len(piece), _PIECE_BYTES):
                await self._send(channel, piece[start : start + _PIECE_BYTES])

    async def resized(self) -> Size:
        """The next size of the terminal."""
        return await self._sizes.get()

    async def open(self) -> None:
        """Say on the first channel that there is something to write to."""
        await self._send(STDOUT if self._shown[STDOUT] else STDERR if self._shown[STDERR] else ERROR, b"")

    async def listen(self) -> None:
        """Take what the client sends, until it goes."""
        try:
            async for message in self._socket:
                if message.type is WSMsgType.BINARY and message.data:
                    await self._heard(message.data[0], message.data[1:])
        finally:
            if self._input.full():
                self._input.get_nowait()
            self._input.put_nowait(b"")

    async def _heard(self, channel: int, data: bytes) -> None:
        if channel == STDIN and data and self.wants_stdin:
            await self._input.put(data)
        elif channel == CLOSE and data[:1] == bytes([STDIN]):
            await self._input.put(b"")
        elif channel == RESIZE:
            try:
                size = msgspec.json.decode(data, type=Size)
            except msgspec.MsgspecError:
                return
            if self._sizes.full():
                self._sizes.get_nowait()
            self._sizes.put_nowait(size)

    async def end(self, outcome: int | Refusal) -> None:
        """Tell how it went."""
        await self._send(ERROR, msgspec.json.encode(end_status(outcome)))

    async def _send(self, channel: int, data: bytes) -> None:
        async with self._sending:
            if not self._socket.closed:
                await self._socket.send_bytes(bytes([channel]) + data)


def end_status(outcome: int | Refusal) -> dict[str, Any]:
    """The Status that ends the streams of a command: its exit code, or why there is none."""
    if outcome == 0:
        return {"metadata": {}, "status": "Success"}
    if isinstance(outcome, Refusal):
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
