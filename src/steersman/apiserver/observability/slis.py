"""``/metrics/slis``: results of health checks, as service level indicators.

Upstream: ``k8s.io/component-base/metrics/prometheus/slis``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import Family, counter, gauge

if TYPE_CHECKING:
    from collections.abc import Iterable


class HealthcheckMetrics:
    """Last result of each health check, and its numbers of successes and failures."""

    def __init__(self) -> None:
        #: By check and endpoint (``etcd``, ``readyz``).
        self._last: Final[dict[tuple[str, str], bool]] = {}
        self._counts: Final[dict[tuple[str, str, bool], int]] = {}

    def observe(self, check: str, endpoint: str, *, passed: bool) -> None:
        """Record the result of one check."""
        self._last[check, endpoint] = passed
        self._counts[check, endpoint, passed] = self._counts.get((check, endpoint, passed), 0) + 1

    async def collect(self) -> Iterable[Family]:
        """Return both families, under upstream's names."""
        last = [((("name", name), ("type", kind)), float(passed)) for (name, kind), passed in self._last.items()]
        counts = [
            ((("name", name), ("status", "success" if passed else "error"), ("type", kind)), float(count))
            for (name, kind, passed), count in self._counts.items()
        ]
        return [
            gauge("kubernetes_healthcheck", "Result of the last run of a health check: 1 if it passed.", sorted(last)),
            counter("kubernetes_healthchecks_total", "Runs of health checks by result.", sorted(counts)),
        ]
