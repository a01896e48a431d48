"""Lines of logs as the container runtime interface writes them, and which of them somebody wants to see.

A line is ``2026-01-02T03:04:05.123456789Z stdout F text``; ``P`` in the place of ``F`` is a piece whose line goes on.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from steersman.apimachinery.timestamps import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: A line is cut into pieces of this size, as containerd does.
PIECE_BYTES: Final = 16 * 1024


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a log is wanted (``PodLogOptions``)."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since: datetime | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None
    #: ``Stdout``, ``Stderr`` or ``All``.
    stream: str = "All"


class LogLine(NamedTuple):
    """One line, or a piece of one."""

    time: bytes
    stream: bytes
    is_whole: bool
    #: Without the end of the line.
    text: bytes

    def encode(self) -> bytes:
        """As it stands in the file."""
        return b"%b %b %b %b\n" % (self.time, self.stream, b"F" if self.is_whole else b"P", self.text)

    def shown(self, *, timestamps: bool) -> bytes:
        """As a reader of the log sees it."""
        head = self.time + b" " if timestamps else b""
        return head + self.text + (b"\n" if self.is_whole else b"")


def read_options(query: Mapping[str, str], *, now: datetime) -> LogOptions:
    """From the query of a request to a kubelet. Raises ValueError."""
    since = parse_time(query["sinceTime"]) if query.get("sinceTime") else None
    if query.get("sinceSeconds"):
        since = now - timedelta(seconds=int(query["sinceSeconds"]))
    flags = {name: query.get(name, "") in ("true", "1") for name in ("follow", "previous", "timestamps")}
    tail, limit = query.get("tailLines"), query.get("limitBytes")
    return LogOptions(
        **flags,
        since=since,
        tail_lines=int(tail) if tail else None,
        limit_bytes=int(limit) if limit else None,
        stream=query.get("stream") or "All",
    )


def nano_time(moment: datetime) -> bytes:
    """With nanoseconds, of which the clock knows thousands."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode()


def parse_line(raw: bytes) -> LogLine | None:
    """None for what is no whole line of a log."""
    parts = raw.removesuffix(b"\n").split(b" ", 3)
    if len(parts) != 4 or not raw.endswith(b"\n"):
        return None
    return LogLine(parts[0], parts[1], parts[2] == b"F", parts[3])


def is_wanted(line: LogLine, options: LogOptions) -> bool:
    """By stream and time: both are texts of one form, so they compare as they are."""
    if options.stream != "All" and line.stream != options.stream.lower().encode():
        return False
    return options.since is None or line.time >= nano_time(options.since)


def tail(lines: Iterable[LogLine], options: LogOptions) -> Sequence[LogLine]:
    """Those that are wanted of what there is already: the last ones, where a number is said."""
    found = [line for line in lines if is_wanted(line, options)]
    if options.tail_lines is None:
        return found
    starts = [0, *(index + 1 for index, line in enumerate(found[:-1]) if line.is_whole)] if found else []
    return (
        found[starts[-options.tail_lines] :]
        if 0 < options.tail_lines <= len(starts)
        else (found if options.tail_lines else [])
    )


class Limit:
    """Cuts a stream off after so many bytes."""

    def __init__(self, limit_bytes: int | None) -> None:
        self._left = limit_bytes

    @property
    def is_reached(self) -> bool:
        """Whether nothing more may come."""
        return self._left == 0

    def cut(self, piece: bytes) -> bytes:
        """What may still be shown of it."""
        if self._left is None:
            return piece
        shown = piece[: self._left]
        self._left -= len(shown)
        return shown
