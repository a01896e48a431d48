"""What a controller has just asked for and its cache has not shown yet.

A cache lags behind the controller's own writes; a reconcile that counts what it sees would create the same Pods twice.
So before it writes it notes how many creations and which deletions are to come, and does nothing for that key until
the informer's handlers have ticked them off (as ``pkg/controller``'s ``UIDTrackingControllerExpectations``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from steersman.asynckit.clock import Clock

#: After this an expectation no longer holds a key back: an event was lost or a write had no effect after all.
TIMEOUT_SECONDS: Final = 5 * 60.0


@dataclass(slots=True)
class _Expected:
    """What is still to come for one key."""

    creations: int
    #: Keys (or UIDs) of dependents whose deletion is to come. A deletion that is seen twice counts once.
    deletions: set[Hashable]
    noted_at: float

    @property
    def fulfilled(self) -> bool:
        return self.creations <= 0 and not self.deletions


class Expectations:
    """Per key (of the owner, ``namespace/name``) what is still to be seen. Bounded by the keys not deleted."""

    def __init__(self, clock: Clock, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._clock = clock
        self._timeout = timeout_seconds
        self._expected: dict[str, _Expected] = {}

    def expect(self, key: str, *, creations: int = 0, deletions: Iterable[Hashable] = ()) -> None:
        """Before the writes: so many creations and these dependents' deletions are to come. Replaces what was noted."""
        self._expected[key] = _Expected(creations, set(deletions), self._clock.monotonic())

    def creation_observed(self, key: str) -> None:
        """An informer showed a new dependent, or its creation failed and will not be seen."""
        self.lower(key, creations=1)

    def deletion_observed(self, key: str, dependent: Hashable) -> None:
        """An informer showed that ``dependent`` is gone (or on its way), or its deletion failed."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.deletions.discard(dependent)

    def lower(self, key: str, *, creations: int) -> None:
        """So many creations will not be seen: they failed, or were not tried after others failed."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.creations -= creations

    def raise_(self, key: str, *, creations: int = 0, deletions: Iterable[Hashable] = ()) -> None:
        """More is to come than was noted."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.creations += creations
            expected.deletions.update(deletions)

    def satisfied(self, key: str) -> bool:
        """Whether the cache has shown all that was noted, or it was noted too long ago, or nothing was noted."""
        expected = self._expected.get(key)
        return expected is None or expected.fulfilled or self._expired(expected)

    def pending(self, key: str) -> tuple[int, frozenset[Hashable]]:
        """Creations and deletions that are still to be seen."""
        expected = self._expected.get(key)
        if expected is None:
            return 0, frozenset()
        return max(0, expected.creations), frozenset(expected.deletions)

    def seconds_to_expiry(self, key: str) -> float:
        """When ``key`` is no longer held back, whatever comes; 0 when it is not held back now.

        A reconcile that is held back asks to be called again then: no change may ever come that would.
        """
        expected = self._expected.get(key)
        if expected is None or expected.fulfilled:
            return 0.0
        return max(0.0, expected.noted_at + self._timeout - self._clock.monotonic())

    def delete(self, key: str) -> None:
        """The owner is gone."""
        self._expected.pop(key, None)

    def _expired(self, expected: _Expected) -> bool:
        return self._clock.monotonic() - expected.noted_at >= self._timeout
