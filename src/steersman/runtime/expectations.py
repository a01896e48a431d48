"""Expectations: writes that a controller has requested and its informers have not observed yet.

A cache lags behind the controller's own writes, so a reconcile that counts cached Pods would create the same Pods
twice. Before writing, the controller records how many creations and which deletions to expect; the key is not
reconciled again until the informer's handlers have observed them. Upstream: ``UIDTrackingControllerExpectations`` of
``pkg/controller``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from steersman.asynckit.clock import Clock

#: Expectations expire after this time: an event was lost or a write had no effect.
TIMEOUT_SECONDS: Final = 5 * 60.0


@dataclass(slots=True)
class _Expected:
    """Outstanding expectations of one key."""

    creations: int
    #: Keys (or UIDs) of expected deletions; a set, so that a deletion observed twice counts once.
    deletions: set[Hashable]
    noted_at: float

    @property
    def fulfilled(self) -> bool:
        return self.creations <= 0 and not self.deletions


class Expectations:
    """Outstanding creations and deletions per owner key (``namespace/name``). Bounded by the keys that are not deleted."""

    def __init__(self, clock: Clock, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._clock = clock
        self._timeout = timeout_seconds
        self._expected: dict[str, _Expected] = {}

    def expect(self, key: str, *, creations: int = 0, deletions: Iterable[Hashable] = ()) -> None:
        """Set the expected creations and deletions, before the writes. Replaces earlier expectations of the key."""
        self._expected[key] = _Expected(creations, set(deletions), self._clock.monotonic())

    def creation_observed(self, key: str) -> None:
        """Lower the expected creations by one: an informer delivered a new dependent, or its creation failed."""
        self.lower(key, creations=1)

    def deletion_observed(self, key: str, dependent: Hashable) -> None:
        """Remove an expected deletion: an informer delivered ``dependent`` as deleted or terminating, or its deletion failed."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.deletions.discard(dependent)

    def lower(self, key: str, *, creations: int) -> None:
        """Lower the expected creations: they failed, or were skipped after others failed."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.creations -= creations

    def raise_(self, key: str, *, creations: int = 0, deletions: Iterable[Hashable] = ()) -> None:
        """Add to the expectations of a key."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.creations += creations
            expected.deletions.update(deletions)

    def satisfied(self, key: str) -> bool:
        """Report whether the expectations of a key are fulfilled, expired or absent."""
        expected = self._expected.get(key)
        return expected is None or expected.fulfilled or self._expired(expected)

    def pending(self, key: str) -> tuple[int, frozenset[Hashable]]:
        """Return the expected creations and deletions that are not observed yet."""
        expected = self._expected.get(key)
        if expected is None:
            return 0, frozenset()
        return max(0, expected.creations), frozenset(expected.deletions)

    def seconds_to_expiry(self, key: str) -> float:
        """Return the seconds until the expectations of ``key`` expire; 0 if absent.

        A reconcile that waits for expectations requeues itself after that time, since no further event may arrive.
        """
        expected = self._expected.get(key)
        if expected is None or expected.fulfilled:
            return 0.0
        return max(0.0, expected.noted_at + self._timeout - self._clock.monotonic())

    def delete(self, key: str) -> None:
        """Remove the expectations of a deleted owner."""
        self._expected.pop(key, None)

    def _expired(self, expected: _Expected) -> bool:
        return self._clock.monotonic() - expected.noted_at >= self._timeout
