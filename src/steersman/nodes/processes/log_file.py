"""The log of one run of a container: a file of lines with their times, which may be read while it is written."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from steersman.nodes.kubelet.log_lines import PIECE_BYTES, Limit, LogLine, is_wanted, nano_time, parse_line, tail

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from steersman.asynckit.clock import Clock
    from steersman.nodes.kubelet.log_lines import LogOptions

#: As the kubelet's ``containerLogMaxSize``: a longer file is put aside, and the one before it is lost.
FILE_BYTES_MAX: Final = 10 * 1024 * 1024


class LogFile:
    """Written by one container, read by anybody."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._aside = path.with_suffix(".old")
        self._clock = clock
        self._file = path.open("ab", buffering=0)
        self._size = self._file.tell()
        #: Files that were put aside.
        self._turns = 0
        #: The beginning of a line whose end has not come, by stream.
        self._rests: dict[bytes, bytes] = {}
        self._changed = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will come."""
        return self._file.closed

    def write(self, data: bytes, *, error: bool = False) -> None:
        """Whole lines go to the file; the rest waits for its end, unless it is long."""
        stream = b"stderr" if error else b"stdout"
        *lines, rest = (self._rests.pop(stream, b"") + data).split(b"\n")
        made = [piece for line in lines for piece in self._pieces(stream, line, is_whole=True)]
        while len(rest) >= PIECE_BYTES:
            made += self._pieces(stream, rest[:PIECE_BYTES], is_whole=False)
            rest = rest[PIECE_BYTES:]
        if rest:
            self._rests[stream] = rest
        self._append(b"".join(line.encode() for line in made))

    def _pieces(self, stream: bytes, text: bytes, *, is_whole: bool) -> list[LogLine]:
        moment = nano_time(self._clock.now())
        starts = range(0, max(1, len(text)), PIECE_BYTES)
        return [
            LogLine(moment, stream, is_whole and start == starts[-1], text[start : start + PIECE_BYTES])
            for start in starts
        ]

    def _append(self, data: bytes) -> None:
        if not data or self._file.closed:
            return
        if self._size and self._size + len(data) > FILE_BYTES_MAX:
            self._file.close()
            self._path.replace(self._aside)
            self._file = self._path.open("ab", buffering=0)
            self._size, self._turns = 0, self._turns + 1
        self._file.write(data)
        self._size += len(data)
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def close(self) -> None:
        """Nothing more will come. Idempotent."""
        for stream, rest in self._rests.items():
            self._append(b"".join(line.encode() for line in self._pieces(stream, rest, is_whole=False)))
        self._rests.clear()
        self._file.close()
        self._tell()

    async def read(self, options: LogOptions) -> AsyncIterator[bytes]:
        """What is wanted of it, and with ``follow`` what comes until it is closed."""
        limit = Limit(options.limit_bytes)
        place = (self._turns, self._size)
        for line in tail(_lines(self._stored()), options):
            yield limit.cut(line.shown(timestamps=options.timestamps))
            if limit.is_reached:
                return
        while options.follow:
            changed, fresh = self._changed, self._since(place)
            place = (self._turns, self._size)
            for line in _lines(fresh):
                if is_wanted(line, options):
                    yield limit.cut(line.shown(timestamps=options.timestamps))
                if limit.is_reached:
                    return
            if not fresh and self.is_closed:
                return
            if not fresh:
                await changed.wait()

    def _stored(self) -> bytes:
        found = b""
        for path in (self._aside, self._path):
            with contextlib.suppress(FileNotFoundError):
                found += path.read_bytes()
        return found

    def _since(self, place: tuple[int, int]) -> bytes:
        turns, offset = place
        if turns == self._turns:
            if offset == self._size:
                return b""
            with self._path.open("rb") as file:
                file.seek(offset)
                return file.read()
        rest = self._aside.read_bytes()[offset:] if turns == self._turns - 1 else b""
        return rest + self._path.read_bytes()


def _lines(data: bytes) -> list[LogLine]:
    found = (parse_line(raw) for raw in data.splitlines(keepends=True))
    return [line for line in found if line is not None]
