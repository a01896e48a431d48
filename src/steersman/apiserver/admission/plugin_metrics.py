"""Durations of admission plugins, and of the two steps of admission, by outcome.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/metrics/metrics.go.
"""

from __future__ import annotations

from typing import Final

from steersman.apimachinery.histogram import Histogram

#: Upper bounds in seconds.
BUCKETS: Final[tuple[float, ...]] = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)


class Durations:
    """Durations of one plugin or step for one operation."""

    __slots__ = ("accepted", "rejected")

    def __init__(self) -> None:
        self.accepted: Final = Histogram(BUCKETS)
        self.rejected: Final = Histogram(BUCKETS)

    def accept(self, seconds: float) -> None:
        """Record a write that was not rejected."""
        self.accepted.observe(seconds)

    def reject(self, seconds: float) -> None:
        """Record a write that was rejected."""
        self.rejected.observe(seconds)


class PluginMetrics:
    """Durations by labels: plugins and operations are few."""

    def __init__(self) -> None:
        #: Labels name, operation, type.
        self.plugins: Final[dict[tuple[str, str, str], Durations]] = {}
        #: Labels operation, type.
        self.steps: Final[dict[tuple[str, str], Durations]] = {}

    def of_plugin(self, name: str, operation: str, kind: str) -> Durations:
        """Return the durations of a plugin; ``kind`` is ``admit`` or ``validate``."""
        return self.plugins.setdefault((name, operation, kind), Durations())

    def of_step(self, operation: str, kind: str) -> Durations:
        """Return the durations of a step."""
        return self.steps.setdefault((operation, kind), Durations())
