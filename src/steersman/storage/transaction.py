"""Evaluation of transactions against the current keys, common to all implementations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from steersman.storage.store import Delete, Put

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.storage.store import Op


VALUE_BYTES_MAX = 64 << 20


class Versioned(Protocol):
    """Current state of a key, as far as transactions need it."""

    @property
    def mod_revision(self) -> int: ...


class CheckFailedError(Exception):
    """The expectation of an operation failed."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def changes_of(ops: Sequence[Op], present: Mapping[str, Versioned]) -> list[Put | Delete]:
    """Return the operations that change a key. Raises ``CheckFailedError`` for the first operation whose expectation fails,
    ``ValueError`` for operations that no
    implementation can store: a duplicate key, a key that is not Unicode, an oversized value. They are rejected here
    because they would otherwise fail the other transactions of their batch.
    """
    changes: list[Put | Delete] = []
    for op in ops:
        current = present.get(op.key)
        if op.expected is not None and op.expected != (0 if current is None else current.mod_revision):
            raise CheckFailedError(op.key)
        if type(op) is Put:
            if current is None and not op.key.isascii():
                op.key.encode()
            if len(op.value) > VALUE_BYTES_MAX:
                raise ValueError(f"{op.key}: a value of {len(op.value)} bytes")
            changes.append(op)
        elif type(op) is Delete and current is not None:
            changes.append(op)
    if len(ops) > 1 and len({op.key for op in ops}) < len(ops):
        raise ValueError("a transaction names a key twice")
    return changes
