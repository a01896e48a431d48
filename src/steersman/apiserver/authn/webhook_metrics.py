"""Counters of the requests of token reviews. Upstream: ``RegisterMetrics`` of k8s.io/apiserver/pkg/authentication/authenticatorfactory"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.label_sets import observe

if TYPE_CHECKING:
    from steersman.apimachinery.histogram import Histogram

_BUCKETS_SECONDS: Final[tuple[float, ...]] = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0)


class TokenReviewMetrics:
    """Durations of requests to a token webhook."""

    def __init__(self) -> None:
        #: By status code of the answer; ``<error>`` without one.
        self.durations: Final[dict[tuple[str], Histogram]] = {}

    def observe_attempt(self, code: str, seconds: float) -> None:
        """Count a request."""
        observe(self.durations, (code,), seconds, _BUCKETS_SECONDS)
