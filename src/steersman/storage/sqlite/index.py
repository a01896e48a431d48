"""In-memory index of all keys, including writes in flight, with rollback of failed writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from steersman.storage.leases import LeaseTable


class Entry(msgspec.Struct, frozen=True, gc=False):
    """Key as of the newest accepted write, durable or not."""

    #: Key string, shared by rows, events and results.
    key: str
    mod_revision: int
    create_revision: int
    lease_id: int


#: kind, id, key, create_revision, lease_id, value: a row of the view ``change``.
Row = tuple[int, int, str, int, int, bytes | None]


class Write:
    """An accepted write to be persisted; its future completes when it is durable and applied."""

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
        #: Revision of the write; 0 if no key changes.
        self.revision = revision
        #: Fingerprint of all keys after and before the write.
        self.fingerprint = 0
        self.fingerprint_before = 0
        self.rows: list[Row] = []
        #: Size of the values.
        self.size_bytes = 0
        #: Replaced entries, in order.
        self.undo: list[tuple[str, Entry | None]] = []
        #: Statements for leases and marks.
        self.statements = statements
        #: Callback on the event loop; receives True if the write was persisted.
        self.on_settled = on_settled


#: All keys, including writes in flight.
Index = dict[str, Entry]


def roll_back(index: Index, write: Write, *, leases: LeaseTable) -> None:
    """Roll a failed write back; call it for the newest write first."""
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
