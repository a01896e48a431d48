"""Log of one container run: a file of timestamped lines (CRI format), readable while it is written, with rotation."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from steersman.nodes.kubelet.log_lines import PIECE_BYTES, Limit, LogLine, is_selected, nano_time, parse_line, tail

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from steersman.asynckit.clock import Clock
    from steersman.nodes.kubelet.log_lines import LogOptions

#: Size from which a file is rotated, the kubelet's ``containerLogMaxSize``; one rotated file is retained.
FILE_BYTES_MAX: Final = 10 * 1024 * 1024


class LogFile:
    """Log file with one writer and any number of readers."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._rotated_path = path.with_suffix(".old")
        self._clock = clock
        self._file = path.open("ab", buffering=0)
        self._size = self._file.tell()
        #: Number of rotations.
        self._rotations = 0
        #: Incomplete last line by stream.
        self._partial_lines: dict[bytes, bytes] = {}
        self._changed = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        """True if no more lines will be written."""
        return self._file.closed

    def write(self, data: bytes, *, error: bool = False) -> None:
        """Append complete lines; buffer an incomplete line up to ``PIECE_BYTES``."""
        stream = b"stderr" if error else b"stdout"
        *lines, rest = (self._partial_lines.pop(stream, b"") + data).split(b"\n")
        log_lines = [piece for line in lines for piece in self._log_lines(stream, line, is_whole=True)]
        while len(rest) >= PIECE_BYTES:
            log_lines += self._log_lines(stream, rest[:PIECE_BYTES], is_whole=False)
            rest = rest[PIECE_BYTES:]
        if rest:
            self._partial_lines[stream] = rest
        self._append(b"".join(line.encode() for line in log_lines))

    def _log_lines(self, stream: bytes, text: bytes, *, is_whole: bool) -> list[LogLine]:
        timestamp = nano_time(self._clock.now())
        starts = range(0, max(1, len(text)), PIECE_BYTES)
        return [
            LogLine(timestamp, stream, is_whole and start == starts[-1], text[start : start + PIECE_BYTES])
            for start in starts
        ]

    def _append(self, data: bytes) -> None:
        if not data or self._file.closed:
            return
        if self._size and self._size + len(data) > FILE_BYTES_MAX:
            self._file.close()
            self._path.replace(self._rotated_path)
            self._file = self._path.open("ab", buffering=0)
            self._size, self._rotations = 0, self._rotations + 1
        self._file.write(data)
        self._size += len(data)
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def close(self) -> None:
        """Flush incomplete lines and close the file. Idempotent."""
        for stream, rest in self._partial_lines.items():
            self._append(b"".join(line.encode() for line in self._log_lines(stream, rest, is_whole=False)))
        self._partial_lines.clear()
        self._file.close()
        self._notify()

    async def read(self, options: LogOptions) -> AsyncIterator[bytes]:
        """Yield the selected lines; with ``follow``, also new ones until the log is closed."""
        limit = Limit(options.limit_bytes)
        position = (self._rotations, self._size)
        for line in tail(_lines(self._stored()), options):
            yield limit.cut(line.render(timestamps=options.timestamps))
            if limit.is_reached:
                return
        while options.follow:
            changed, new_data = self._changed, self._since(position)
            position = (self._rotations, self._size)
            for line in _lines(new_data):
                if is_selected(line, options):
                    yield limit.cut(line.render(timestamps=options.timestamps))
                if limit.is_reached:
                    return
            if not new_data and self.is_closed:
                return
            if not new_data:
                await changed.wait()

    def text(self) -> bytes:
        """Return the output in the file, without streams and times."""
        return b"".join(line.render(timestamps=False) for line in _lines(self._stored()))

    def _stored(self) -> bytes:
        content = b""
        for path in (self._rotated_path, self._path):
            with contextlib.suppress(FileNotFoundError):
                content += path.read_bytes()
        return content

    def _since(self, position: tuple[int, int]) -> bytes:
        rotations, offset = position
        if rotations == self._rotations:
            if offset == self._size:
                return b""
            with self._path.open("rb") as file:
                file.seek(offset)
                return file.read()
        rest = self._rotated_path.read_bytes()[offset:] if rotations == self._rotations - 1 else b""
        return rest + self._path.read_bytes()


def _lines(data: bytes) -> list[LogLine]:
    log_lines = (parse_line(raw) for raw in data.splitlines(keepends=True))
    return [line for line in log_lines if line is not None]
