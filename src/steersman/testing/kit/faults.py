"""Faults of a cluster in another process: requests that fail, cut watches, partitions, nodes and pods that fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from steersman.testing.kit.connection import ClusterProcess


class ClusterFault:
    """A fault that was added."""

    def __init__(self, process: ClusterProcess, number: int) -> None:
        self._process: Final = process
        self._number: Final = number

    @property
    def hits(self) -> int:
        """Number of requests that it was applied to."""
        hits: int = self._process.call("faults.describe", {"number": self._number})["hits"]
        return hits

    def remove(self) -> None:
        """End the fault. Idempotent."""
        self._process.call("faults.remove", {"number": self._number})

    def heal(self) -> None:
        """End a partition. Idempotent."""
        self.remove()


class ClusterFaults:
    """Faults in the request path, as ``cluster.faults``. Those that were not hit as often as they should fail the test."""

    def __init__(self, process: ClusterProcess) -> None:
        self._process: Final = process

    def add(self, **fields: Any) -> ClusterFault:
        """Add a fault: ``verb``, ``resource``, ``name``, ``namespace``, ``user_agent``, ``respond``, ``after``, ``times``, …

        ``respond`` is a status code, ``"timeout"``, ``"reset"``, ``"lose-answer"``, whose request takes effect, or
        ``"duplicate"``, whose request takes effect twice. Raises ``FaultError`` for an unknown field or a bad value.
        """
        return ClusterFault(self._process, self._process.call("faults.add", fields))

    def delay(self, seconds: float, **fields: Any) -> ClusterFault:
        """Delay matching requests."""
        return self.add(delay_seconds=seconds, **fields)

    def stale_reads(self, seconds: float, **fields: Any) -> ClusterFault:
        """Answer matching lists from the state of ``seconds`` ago, as an API server does whose cache lags behind."""
        return self.add(stale_seconds=seconds, **{"verb": "list", **fields})

    def partition(self, component: str) -> ClusterFault:
        """Cut a component, or clients by user agent, off the API server until ``heal``; open watches break."""
        return ClusterFault(self._process, self._process.call("faults.partition", {"component": component}))

    def cut_watches(self, **patterns: Any) -> int:
        """Break the connections of open watches; return their number."""
        count: int = self._process.call("faults.cut_watches", patterns)
        return count

    def expire_watches(self, **patterns: Any) -> int:
        """End open watches with 410, as if the server no longer kept the events; return their number."""
        count: int = self._process.call("faults.expire_watches", patterns)
        return count

    def clear(self) -> None:
        """Remove all faults; they are not checked."""
        self._process.call("faults.clear")

    def check_leftover(self) -> None:
        """Raise ``LeftoverFaults`` if a fault was hit less often than it should be."""
        self._process.call("faults.check_leftover")


class ClusterNodes:
    """Simulated nodes that a test stops and starts."""

    def __init__(self, process: ClusterProcess) -> None:
        self._process: Final = process

    def fail(self, name: str) -> None:
        """Stop a node: no heartbeats, no changes of its pods' statuses."""
        self._process.call("nodes.fail", {"name": name})

    def recover(self, name: str) -> None:
        """Start a node again."""
        self._process.call("nodes.recover", {"name": name})


class ClusterPods:
    """Pods on simulated nodes that a test lets fail."""

    def __init__(self, process: ClusterProcess) -> None:
        self._process: Final = process

    def fail(self, name: str, failure: str = "crash", **options: Any) -> None:
        """Let containers fail until ``recover``: ``crash``, ``oom``, ``hang``, ``not-ready`` or ``evict``.

        Options: ``namespace``, ``container``, ``after_seconds``.
        """
        self._process.call("pods.fail", {"name": name, "failure": failure, **options})

    def recover(self, name: str, *, namespace: str = "default") -> None:
        """Remove all failures of a pod."""
        self._process.call("pods.recover", {"name": name, "namespace": namespace})
