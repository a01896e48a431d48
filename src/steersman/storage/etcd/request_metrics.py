"""Counts and durations of requests to etcd, by operation and resource.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/metrics/metrics.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Upper bounds of the buckets of ``etcd_request_duration_seconds``.
BUCKETS: Final[tuple[float, ...]] = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
)  # fmt: skip
#: Maximum number of label sets; requests for further resources share one without a name.
_LABELS_MAX: Final = 2048


class Durations:
    """Durations of the requests of one label set."""

    __slots__ = ("errors", "histogram")

    def __init__(self) -> None:
        self.histogram: Final = Histogram(BUCKETS)
        #: Number of failed requests.
        self.errors = 0


class RequestMetrics:
    """Durations by operation (``get``, ``list``, ``create``, ``update``, ``delete``) and folder of the key."""

    def __init__(self) -> None:
        self.durations: dict[tuple[str, str], Durations] = {}

    def observe(self, operation: str, key: str, seconds: float, *, is_error: bool) -> None:
        """Record a request for ``key``."""
        labels = operation, folder_of(key)
        durations = self.durations.get(labels)
        if durations is None:
            if len(self.durations) >= _LABELS_MAX:
                labels = operation, ""
            durations = self.durations.setdefault(labels, Durations())
        durations.histogram.observe(seconds)
        durations.errors += is_error


def merged(parts: Iterable[RequestMetrics]) -> dict[tuple[str, str], Durations]:
    """Return the sums of the durations of several clusters."""
    total: dict[tuple[str, str], Durations] = {}
    for part in parts:
        for labels, durations in part.durations.items():
            whole = total.setdefault(labels, Durations())
            whole.histogram.add(durations.histogram)
            whole.errors += durations.errors
    return total


def folder_of(key: str) -> str:
    """Return the part of a key that names its resource: two segments, or three if the second one is a group's name."""
    segments = key.split("/", 4)
    count = 4 if len(segments) > 4 and "." in segments[2] else 3
    return "/".join(segments[:count]) + "/"
