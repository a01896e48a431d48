"""What the event loop knows of every key without asking the disk, and how to take back what did not get there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from steersman.storage.leases import LeaseTable


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A key as the newest accepted write leaves it, on disk or not yet."""

    #: The one copy of the string: rows, events and answers share it.
    key: str
    mod_revision: int
    create_revision: int
    lease_id: int


#: kind, id, key, create_revision, lease_id, value: a row of the view ``change``.
Row = tuple[int, int, str, int, int, bytes | None]


class Write:
    """Something accepted that the writer is to persist; answered when it is on disk and applied."""

    __slots__ = (
        "done",
        "fingerprint",
        "fingerprint_before",
        "on_settled",
        "revision",
        "rows",
        "size_bytes",
        "statements",
        "undo",
    )

    def __init__(
        self,
        done: asyncio.Future[int],
        *,
        revision: int = 0,
        statements: Sequence[tuple[str, tuple[object, ...]]] = (),
        on_settled: Callable[[bool], None] | None = None,
    ) -> None:
        self.done = done
        #: 0 when it changes no key.
        self.revision = revision
        #: Of all keys, after and before it.
        self.fingerprint = 0
        self.fingerprint_before = 0
        self.rows: list[Row] = []
        #: Of their values.
        self.size_bytes = 0
        #: The entries that it replaced, in order.
        self.undo: list[tuple[str, Entry | None]] = []
        #: Besides the rows: leases, marks.
        self.statements = statements
        #: Told on the loop whether it was kept.
        self.on_settled = on_settled


#: All keys. Ahead of the disk by the writes that are under way.
Index = dict[str, Entry]


def take_back(index: Index, write: Write, *, leases: LeaseTable) -> None:
    """Undo a write that was not kept; the newest first."""
    for key, before in reversed(write.undo):
        current = index.get(key)
        leases.move(
            key,
            before=0 if current is None else current.lease_id,
            after=0 if before is None else before.lease_id,
        )
        if before is None:
            del index[key]
        else:
            index[key] = before
