"""Faults of a cluster in another process: failing requests, broken watches, partitions, failing nodes and pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from steersman.testing.kit.connection import ClusterProcess


class ClusterFault:
    """Fault of a cluster."""

    def __init__(self, process: ClusterProcess, number: int) -> None:
        self._process: Final = process
        self._number: Final = number

    @property
    def hits(self) -> int:
        """Number of requests that the fault was applied to."""
        hits: int = self._process.call("faults.describe", {"number": self._number})["hits"]
        return hits

    def remove(self) -> None:
        """End the fault. Idempotent."""
        self._process.call("faults.remove", {"number": self._number})

    def heal(self) -> None:
        """End a partition. Idempotent."""
        self.remove()


class ClusterFaults:
    """Faults in the request path (``cluster.faults``). Faults with fewer hits than expected fail the test."""

    def __init__(self, process: ClusterProcess) -> None:
        self._process: Final = process

    def add(self, **fields: Any) -> ClusterFault:
        """Add a fault: ``verb``, ``resource``, ``name``, ``namespace``, ``user_agent``, ``respond``, ``after``, ``times``, …

        ``respond`` is a status code, ``"timeout"``, ``"reset"``, ``"lose-answer"`` (the request takes effect without a
        response) or ``"duplicate"`` (the request takes effect twice). Raises ``FaultError`` for an unknown field or a bad
        value.
        """
        return ClusterFault(self._process, self._process.call("faults.add", fields))

    def delay(self, seconds: float, **fields: Any) -> ClusterFault:
        """Delay matching requests."""
        return self.add(delay_seconds=seconds, **fields)

    def stale_reads(self, seconds: float, **fields: Any) -> ClusterFault:
        """Serve matching lists from the state of ``seconds`` ago, like an API server whose watch cache lags."""
        return self.add(stale_seconds=seconds, **{"verb": "list", **fields})

    def partition(self, component: str) -> ClusterFault:
        """Disconnect a component, or clients by user agent, from the API server until ``heal``; open watches break."""
        return ClusterFault(self._process, self._process.call("faults.partition", {"component": component}))

    def cut_watches(self, **patterns: Any) -> int:
        """Break the connections of open watches; return their number."""
        count: int = self._process.call("faults.cut_watches", patterns)
        return count

    def expire_watches(self, **patterns: Any) -> int:
        """End open watches with 410, as if their events were compacted; return their number."""
        count: int = self._process.call("faults.expire_watches", patterns)
        return count

    def clear(self) -> None:
        """Remove all faults without checking their hits."""
        self._process.call("faults.clear")

    def check_leftover(self) -> None:
        """Raise ``LeftoverFaults`` if a fault has fewer hits than expected."""
        self._process.call("faults.check_leftover")


class ClusterNodes:
    """Failures of simulated nodes."""

    def __init__(self, process: ClusterProcess) -> None:
        self._process: Final = process

    def fail(self, name: str) -> None:
        """Stop a node: no heartbeats, no status updates of its pods."""
        self._process.call("nodes.fail", {"name": name})

    def recover(self, name: str) -> None:
        """Start a node again."""
        self._process.call("nodes.recover", {"name": name})


class ClusterPods:
    """Failures of pods on simulated nodes."""

    def __init__(self, process: ClusterProcess) -> None:
        self._process: Final = process

    def fail(self, name: str, failure: str = "crash", **options: Any) -> None:
        """Make containers fail until ``recover``: ``crash``, ``oom``, ``hang``, ``not-ready`` or ``evict``.

        Options: ``namespace``, ``container``, ``after_seconds``.
        """
        self._process.call("pods.fail", {"name": name, "failure": failure, **options})

    def recover(self, name: str, *, namespace: str = "default") -> None:
        """Remove all failures of a pod."""
        self._process.call("pods.recover", {"name": name, "namespace": namespace})
