"""Leases with their keys and expiration times. Confined to the event loop; does not persist anything."""

from __future__ import annotations

import heapq
import secrets
from typing import TYPE_CHECKING

from steersman.storage.store import LeaseNotFound, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.asynckit.clock import Clock, Timer

_LEASE_ID_BITS = 62
LEASE_ID_END = 1 << 63


def random_lease_id() -> int:
    """Return a random id, so that a holder of a lost lease does not renew another lease."""
    return secrets.randbits(_LEASE_ID_BITS) + 1


class Lease:
    """A lease: keys that are deleted together when it expires."""

    __slots__ = ("deadline", "ending", "keys", "lease_id", "persisted_seconds", "ttl_seconds")

    def __init__(self, lease_id: int, *, ttl_seconds: int, deadline: float, persisted_seconds: float) -> None:
        self.lease_id = lease_id
        self.ttl_seconds = ttl_seconds
        #: Monotonic time of the clock.
        self.deadline = deadline
        #: Persisted remaining time, which the lease gets after a crash.
        self.persisted_seconds = persisted_seconds
        self.keys: set[str] = set()
        #: True while its deletion is being persisted: it accepts no keys and cannot be renewed.
        self.ending = False


class LeaseTable:
    """Existing leases, their keys, and one timer for the next expiration."""

    def __init__(self, clock: Clock, *, on_expired: Callable[[int], None]) -> None:
        self._clock = clock
        self._on_expired = on_expired
        self._leases: dict[int, Lease] = {}
        #: (deadline when pushed, lease id); an entry is stale if its lease is gone or was renewed since. At most one
        #: entry per lease is due before the lease's deadline, so the heap is bounded by the leases.
        self._deadlines: list[tuple[float, int]] = []
        self._timer: Timer | None = None

    def __contains__(self, lease_id: int) -> bool:
        lease = self._leases.get(lease_id)
        return lease is not None and not lease.ending

    def __iter__(self) -> Iterator[Lease]:
        return iter(self._leases.values())

    def get(self, lease_id: int) -> Lease:
        """Return a lease. Raises ``LeaseNotFound``."""
        lease = self._leases.get(lease_id)
        if lease is None or lease.ending:
            raise LeaseNotFound(f"lease {lease_id} does not exist")
        return lease

    def check_new(self, lease_id: int, *, ttl_seconds: int) -> None:
        """Raise ``StoreError`` when the id is used, ``ValueError`` for a TTL below one second."""
        if ttl_seconds < 1:
            raise ValueError("a lease lasts a second at least")
        if not 0 < lease_id < LEASE_ID_END:
            raise ValueError(f"lease id {lease_id} is out of range")
        if lease_id in self._leases:
            raise StoreError(f"lease {lease_id} exists already")

    def add(self, lease_id: int, *, ttl_seconds: int, remaining_seconds: float) -> Lease:
        """Add a lease."""
        deadline = self._clock.monotonic() + remaining_seconds
        lease = Lease(lease_id, ttl_seconds=ttl_seconds, deadline=deadline, persisted_seconds=remaining_seconds)
        self._leases[lease_id] = lease
        heapq.heappush(self._deadlines, (deadline, lease_id))
        self._arm()
        return lease

    def renew(self, lease_id: int) -> Lease:
        """Reset the lease to its full TTL. Its heap entry is updated lazily."""
        lease = self.get(lease_id)
        lease.deadline = self._clock.monotonic() + lease.ttl_seconds
        return lease

    def remove(self, lease_id: int) -> None:
        self._leases.pop(lease_id, None)

    def move(self, key: str, *, before: int, after: int) -> None:
        """Move a key from one lease to another (0: none)."""
        if before == after:
            return
        if before and (lease := self._leases.get(before)) is not None:
            lease.keys.discard(key)
        if after and (lease := self._leases.get(after)) is not None:
            lease.keys.add(key)

    def remaining_seconds(self, lease: Lease) -> float:
        return max(0.0, lease.deadline - self._clock.monotonic())

    def retry(self, lease_id: int, *, seconds: float) -> None:
        """Report an expired lease again after ``seconds``, after a failed deletion."""
        if (lease := self._leases.get(lease_id)) is not None:
            lease.ending = False
            heapq.heappush(self._deadlines, (self._clock.monotonic() + seconds, lease_id))
            self._arm()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._deadlines.clear()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if self._deadlines:
            self._timer = self._clock.timer(self._deadlines[0][0] - self._clock.monotonic(), self._expire)

    def _expire(self) -> None:
        """Report expired leases; push renewed ones back with their new deadline."""
        now = self._clock.monotonic()
        expired = []
        while self._deadlines and self._deadlines[0][0] <= now:
            lease = self._leases.get(heapq.heappop(self._deadlines)[1])
            if lease is None or lease.ending:
                continue
            if lease.deadline > now:
                heapq.heappush(self._deadlines, (lease.deadline, lease.lease_id))
            else:
                expired.append(lease.lease_id)
        self._arm()
        for lease_id in expired:
            self._on_expired(lease_id)
