"""Metrics of Pod Security in the Prometheus format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.observability.metrics import counter, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.admission.pod_security_metrics import PodSecurityMetrics
    from steersman.apiserver.observability.metrics import Family

_REQUEST_LABELS: Final = ("request_operation", "resource", "subresource")
_EVALUATION_LABELS: Final = ("decision", "mode", "policy_level", "policy_version", *_REQUEST_LABELS)


class PodSecurityMetricsCollector:
    """Collector of the counters of ``PodSecurityMetrics``."""

    def __init__(self, metrics: PodSecurityMetrics) -> None:
        self._metrics: Final = metrics

    async def collect(self) -> Iterable[Family]:
        """Return the families that have samples."""
        families = [
            counter(
                "pod_security_evaluations_total",
                "Evaluations of Pod Security by decision, mode, level and version of the standard, and write.",
                labelled(_EVALUATION_LABELS, self._metrics.evaluations),
            ),
            counter(
                "pod_security_exemptions_total",
                "Writes that are exempt from Pod Security.",
                labelled(_REQUEST_LABELS, self._metrics.exemptions),
            ),
        ]
        return [family for family in families if family.samples]
