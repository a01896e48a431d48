"""Template: the common initial state of the clusters of a session."""

from __future__ import annotations

import threading
from typing import Any, Final

from steersman.testing.errors import ClusterError
from steersman.testing.kit.cluster import Cluster, Snapshot


class ClusterTemplate:
    """Cluster that is set up once. Each test's cluster is a fork of the state at the first test. The process starts with the
    first call of a method of ``Cluster`` and ends after the snapshot.
    """

    def __init__(self, **options: Any) -> None:
        """``options`` are those of ``Cluster``."""
        self._options: dict[str, Any] = options
        self._cluster: Cluster | None = None
        self._snapshot: Snapshot | None = None
        self._lock: Final = threading.Lock()

    def configure(self, **options: Any) -> None:
        """Set options of the template and of the tests' clusters. Raises ``ClusterError`` if it is started."""
        if self._cluster is not None:
            raise ClusterError("cluster_template: it is started already, configure it first")
        self._options = {**self._options, **options}

    @property
    def cluster(self) -> Cluster:
        """Return the template's cluster, started if needed. Raises ``ClusterError`` once the first test has forked it."""
        with self._lock:
            if self._snapshot is not None:
                raise ClusterError("cluster_template: tests have forked it already, later changes would be lost")
            if self._cluster is None:
                self._cluster = Cluster(**self._options)
            return self._cluster

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the template's cluster."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.cluster, name)

    def fork(self, **options: Any) -> Cluster:
        """Return a cluster with the state of the template; ``options`` replace those of the template."""
        with self._lock:
            if self._cluster is not None and self._snapshot is None:
                self._snapshot = self._cluster.settled_snapshot()
                self._cluster.stop()
        return Cluster(snapshot=self._snapshot, **{**self._options, **options})

    def stop(self) -> None:
        """End the template's cluster. Idempotent."""
        if self._cluster is not None:
            self._cluster.stop()
