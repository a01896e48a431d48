"""Checker of histories: what clients of etcd or of API servers did and were answered, against etcd's own history.

* Every acknowledged write is in etcd's history, at the revision that was answered.
* Writes and reads are linearizable: an operation that began after another one had ended has not a smaller revision, and a
  read returned the state at a revision between the two. That of a list is one state of all keys.
* Every watch received each event of its time once, in order.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.storage.store import Batch, Event, StoreError


@dataclass
class Operation:
    """An acknowledged write or delete, or a read, with the order numbers of its begin and end."""

    kind: str
    key: str
    begin: int
    end: int
    #: Of a write: its revision. Of a read: ``mod_revision`` of what was read, 0 for nothing. Of a delete: the revision that
    #: it deleted.
    revision: int
    value: bytes | None


@dataclass
class Listed:
    """State that one list returned: the revision of each key that exists."""

    revision: int
    keys: dict[str, int]


@dataclass
class Watched:
    """Events of a watch from after ``since`` to ``until``."""

    since: int
    until: int = 0
    events: list[Event] = field(default_factory=list)
    is_lost: bool = False

    def __call__(self, batch: Batch) -> None:
        self.events += batch.events
        self.until = batch.revision

    def lose(self, _error: StoreError) -> None:
        self.is_lost = True


def check(
    operations: list[Operation], watches: list[Watched], history: list[Event], lists: Sequence[Listed] = ()
) -> list[str]:
    """Return the violations of a history."""
    violations = _check_values(operations, history)
    operations, lost = _with_revisions_of_deletes(operations, history)
    return [
        *violations,
        *lost,
        *_check_order(operations, history),
        *_check_watches(watches, history),
        *_check_lists(lists, history),
    ]


def _check_values(operations: list[Operation], history: list[Event]) -> list[str]:
    stored = {(event.key, event.value, event.mod_revision) for event in history}
    texts = {"write": "an acknowledged write is lost", "delete": "a delete of what was never stored"}
    return [
        f"{texts.get(operation.kind, 'a read of what was never stored')}: {operation}"
        for operation in operations
        if operation.revision and (operation.key, operation.value, operation.revision) not in stored
    ]


def _with_revisions_of_deletes(operations: list[Operation], history: list[Event]) -> tuple[list[Operation], list[str]]:
    """Return the operations, with deletes at the revision of their events, and the deletes that are lost."""
    replaced_by: dict[tuple[str, int], Event] = {}
    newest: dict[str, int] = {}
    for event in history:
        replaced_by[event.key, newest.get(event.key, 0)] = event
        newest[event.key] = event.mod_revision
    whole, lost = [], []
    for operation in operations:
        if operation.kind != "delete":
            whole.append(operation)
            continue
        event = replaced_by.get((operation.key, operation.revision))
        if event is None or event.value is not None:
            lost.append(f"an acknowledged delete is lost: {operation}")
        else:
            whole.append(replace(operation, kind="write", revision=event.mod_revision, value=None))
    return whole, lost


def _check_lists(lists: Sequence[Listed], history: list[Event]) -> list[str]:
    violations = []
    for listed in lists:
        state: dict[str, int] = {}
        for event in history:
            if event.mod_revision > listed.revision:
                break
            if event.value is None:
                state.pop(event.key, None)
            else:
                state[event.key] = event.mod_revision
        if state != listed.keys:
            violations.append(f"a list at {listed.revision} returned {listed.keys}, the state was {state}")
    return violations


def _check_order(operations: list[Operation], history: list[Event]) -> list[str]:
    """Check that each operation has a revision that real time allows."""
    states = _states(history)
    writes = [operation for operation in operations if operation.kind == "write"]
    ended = sorted((write.end, write.revision) for write in writes)
    begins = sorted((write.begin, write.revision) for write in writes)
    #: Greatest revision of writes that ended up to there; least one of writes that began from there on.
    newest, oldest = [0], [1 << 62]
    for _, revision in ended:
        newest.append(max(newest[-1], revision))
    for _, revision in reversed(begins):
        oldest.append(min(oldest[-1], revision))
    oldest.reverse()
    violations = []
    for operation in operations:
        low = newest[bisect_right(ended, (operation.begin, 1 << 62))]
        high = oldest[bisect_right(begins, (operation.end, 1 << 62))]
        periods = [(operation.revision, operation.revision + 1)]
        if operation.kind != "write":
            periods = states.get((operation.key, operation.revision), [(0, 1 << 62)])
        if not any(end > low and first < high for first, end in periods):
            violations.append(f"not linearizable: {operation} must be at a revision in [{low}, {high})")
    return violations


def _states(history: list[Event]) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Return the periods, as first revision and end, of each state of a key; 0 stands for its absence."""
    states: dict[tuple[str, int], list[tuple[int, int]]] = {}
    current: dict[str, tuple[int, int]] = {}
    for event in history:
        state, first = current.get(event.key, (0, 0))
        states.setdefault((event.key, state), []).append((first, event.mod_revision))
        current[event.key] = 0 if event.value is None else event.mod_revision, event.mod_revision
    for key, (state, first) in current.items():
        states.setdefault((key, state), []).append((first, 1 << 62))
    return states


def _check_watches(watches: list[Watched], history: list[Event]) -> list[str]:
    violations = []
    for watched in watches:
        expected = [event for event in history if watched.since < event.mod_revision <= watched.until]
        if watched.events != expected:
            missing = [event for event in expected if event not in watched.events]
            surplus = [event for event in watched.events if event not in expected]
            violations.append(
                f"a watch after {watched.since}: misses {missing[:3]}, has {surplus[:3]} too many or again"
            )
    return violations
