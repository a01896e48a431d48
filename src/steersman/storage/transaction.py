"""What a transaction would do to the keys it names: the same rule for every body that decides in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from steersman.storage.store import Delete, Put

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.storage.store import Op


VALUE_BYTES_MAX = 64 << 20


class Versioned(Protocol):
    """A key's present state, as far as deciding needs it."""

    @property
    def mod_revision(self) -> int: ...


class UnmetError(Exception):
    """An operation's expectation does not hold."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def changes_of(ops: Sequence[Op], present: Mapping[str, Versioned]) -> list[Put | Delete]:
    """Those of ``ops`` that will change something.

    Raises ``UnmetError`` for the first op that does not hold, ``ValueError`` for what no body could write: a key named
    twice, a key that is not Unicode, a value out of all proportion. Here, because on its way to the disk it would take
    the transactions beside it along.
    """
    changes: list[Put | Delete] = []
    for op in ops:
        current = present.get(op.key)
        if op.expected is not None and op.expected != (0 if current is None else current.mod_revision):
            raise UnmetError(op.key)
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
