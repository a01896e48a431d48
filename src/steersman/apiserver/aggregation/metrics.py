"""Metrics of the availability of APIServices. Upstream: kube-aggregator/pkg/controllers/status/metrics/metrics.go."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import counter, gauge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.aggregation.availability import Availability
    from steersman.apiserver.observability.metrics import Family


class AvailabilityMetrics:
    """Outcomes of the last checks, and transitions to unavailable by reason."""

    def __init__(self) -> None:
        self._is_available: Final[dict[str, bool]] = {}
        self._transitions: Final[Counter[tuple[str, str]]] = Counter()

    def observe(self, name: str, outcome: Availability) -> None:
        """Record a check of an APIService."""
        if not outcome.is_available and self._is_available.get(name, True):
            self._transitions[name, outcome.reason] += 1
        self._is_available[name] = outcome.is_available

    def forget(self, name: str) -> None:
        """Remove an APIService that is gone."""
        self._is_available.pop(name, None)

    async def collect(self) -> Iterable[Family]:
        """Return the families that have samples."""
        families = [
            gauge(
                "aggregator_unavailable_apiservice",
                "1 for each APIService that is unavailable, 0 for the others, by name.",
                [((("name", name),), 0 if is_up else 1) for name, is_up in self._is_available.items()],
            ),
            counter(
                "aggregator_unavailable_apiservice_total",
                "Transitions of APIServices to unavailable, by name and reason.",
                [((("name", name), ("reason", reason)), count) for (name, reason), count in self._transitions.items()],
            ),
        ]
        return [family for family in families if family.samples]
