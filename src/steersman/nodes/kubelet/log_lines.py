"""Log lines in the format of the container runtime interface (CRI), and their selection by ``PodLogOptions``.

A line is ``2026-01-02T03:04:05.123456789Z stdout F text``; the tag ``P`` marks a partial line.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from steersman.apimachinery.timestamps import add_seconds, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Maximum length of a line; longer ones are split into partial lines, as by containerd.
PIECE_BYTES: Final = 16 * 1024


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Selection of log lines (``PodLogOptions``)."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since: datetime | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None
    #: ``Stdout``, ``Stderr`` or ``All``.
    stream: str = "All"


class LogLine(NamedTuple):
    """A complete or partial line."""

    time: bytes
    stream: bytes
    is_whole: bool
    #: Text without the newline.
    text: bytes

    def encode(self) -> bytes:
        """Return the line in CRI format."""
        return b"%b %b %b %b\n" % (self.time, self.stream, b"F" if self.is_whole else b"P", self.text)

    def render(self, *, timestamps: bool) -> bytes:
        """Return the line as clients receive it."""
        head = self.time + b" " if timestamps else b""
        return head + self.text + (b"\n" if self.is_whole else b"")


def read_options(query: Mapping[str, str], *, now: datetime) -> LogOptions:
    """Parse the query of a kubelet request. Raises ValueError."""
    since = parse_time(query["sinceTime"]) if query.get("sinceTime") else None
    if query.get("sinceSeconds"):
        since = add_seconds(now, -int(query["sinceSeconds"]))
    flags = {name: query.get(name, "") in ("true", "1") for name in ("follow", "previous", "timestamps")}
    tail, limit = query.get("tailLines"), query.get("limitBytes")
    return LogOptions(
        **flags,
        since=since,
        tail_lines=int(tail) if tail else None,
        limit_bytes=int(limit) if limit else None,
        stream=query.get("stream") or "All",
    )


def nano_time(time: datetime) -> bytes:
    """Format a time with nanoseconds; the clock has microseconds."""
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}000Z".encode()


def parse_line(raw: bytes) -> LogLine | None:
    """Parse a line; None if it is incomplete or malformed."""
    parts = raw.removesuffix(b"\n").split(b" ", 3)
    if len(parts) != 4 or not raw.endswith(b"\n"):
        return None
    return LogLine(parts[0], parts[1], parts[2] == b"F", parts[3])


def is_selected(line: LogLine, options: LogOptions) -> bool:
    """True if the line matches stream and start time; timestamps of one format compare as text."""
    if options.stream != "All" and line.stream != options.stream.lower().encode():
        return False
    return options.since is None or line.time >= nano_time(options.since)


def tail(lines: Iterable[LogLine], options: LogOptions) -> Sequence[LogLine]:
    """Return the selected lines, limited to ``tail_lines`` complete ones."""
    selected_lines = [line for line in lines if is_selected(line, options)]
    if options.tail_lines is None:
        return selected_lines
    starts = (
        [0, *(index + 1 for index, line in enumerate(selected_lines[:-1]) if line.is_whole)] if selected_lines else []
    )
    return (
        selected_lines[starts[-options.tail_lines] :]
        if 0 < options.tail_lines <= len(starts)
        else (selected_lines if options.tail_lines else [])
    )


class Limit:
    """Byte limit of a stream."""

    def __init__(self, limit_bytes: int | None) -> None:
        self._remaining = limit_bytes

    @property
    def is_reached(self) -> bool:
        """True if no more bytes may be written."""
        return self._remaining == 0

    def cut(self, chunk: bytes) -> bytes:
        """Return the part of ``chunk`` within the limit."""
        if self._remaining is None:
            return chunk
        allowed = chunk[: self._remaining]
        self._remaining -= len(allowed)
        return allowed
