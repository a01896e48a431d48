"""Faults set by a test: failing requests, broken watches, partitions, stale reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.testing.faults import COMPONENTS, Fault, FaultError, make_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.testing.application import ClusterApplication, OpenRequest

_PATTERNS: Final = ("verb", "resource", "name", "namespace", "user_agent")


class Partition:
    """Disconnection of a client from the API server until ``heal``."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    @property
    def hits(self) -> int:
        """Number of refused requests."""
        return self._fault.hits

    @property
    def is_active(self) -> bool:
        """True until ``heal``."""
        return self._fault.is_active

    def __str__(self) -> str:
        return str(self._fault)

    def heal(self) -> None:
        """End the partition. Idempotent."""
        self._fault.remove()


class Faults:
    """Faults of one cluster (``cluster.faults``)."""

    def __init__(self, app: ClusterApplication) -> None:
        self._app = app
        self._set = app.faults

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._set)

    def add(self, **fields: Any) -> Fault:
        """Add a fault: ``verb``, ``resource``, ``name``, ``namespace``, ``user_agent``, ``respond``, ``after``, ``times``, …

        Raises ``FaultError`` for an unknown field or a bad value.
        """
        return self._set.add(make_fault(**fields))

    def delay(self, seconds: float, **fields: Any) -> Fault:
        """Delay matching requests."""
        return self.add(delay_seconds=seconds, **fields)

    def stale_reads(self, seconds: float, **fields: Any) -> Fault:
        """Let the watch cache of the API server lag ``seconds`` behind for matching reads.

        GET and LIST with a ``resourceVersion``, e.g. ``0`` of informers, return an earlier state; for a version that the cache
        does not have they wait up to three seconds and fail with 504. Without one they are consistent, as upstream. Watch
        events are delayed by ``seconds``.
        """
        return self.add(stale_seconds=seconds, **fields)

    def cut_watches(self, **patterns: Any) -> int:
        """Break the connections of open watches; return their number."""
        watches = self._watches(patterns)
        for watch in watches:
            watch.abort()
        return len(watches)

    async def expire_watches(self, **patterns: Any) -> int:
        """End open watches with 410, as if their events were compacted; return their number."""
        watches = self._watches(patterns)
        for watch in watches:
            await self._app.expire(watch)
        return len(watches)

    def partition(self, component: str) -> Partition:
        """Disconnect a component, or clients by user agent, from the API server until ``heal``; open watches break."""
        agent = COMPONENTS.get(component, component)
        fault = self.add(user_agent=agent, respond="reset", optional=True, label=f"partition of {component}")
        for request in self._app.open_requests:
            if fault.matches_request(request.info, request.user_agent):
                request.abort()
        return Partition(fault)

    def clear(self) -> None:
        """Remove all faults without checking their hits."""
        self._set.clear()

    def check_leftover(self) -> None:
        """Raise ``LeftoverFaults`` if a fault has fewer hits than expected."""
        self._set.check_leftover()

    def _watches(self, patterns: dict[str, Any]) -> list[OpenRequest]:
        for field in patterns:
            if field not in _PATTERNS:
                raise FaultError(f'unknown field "{field}" of a watch, expected one of: {", ".join(_PATTERNS)}')
        pattern = make_fault(respond="reset", **patterns)
        return self._app.watches(pattern)
