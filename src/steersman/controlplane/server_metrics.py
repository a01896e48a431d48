"""Metrics of the API server as a component: its version, its feature gates, and that it records no audit events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.observability.metrics import Family, counter, gauge
from steersman.controlplane.component_info import build_labels, feature_states, version_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from steersman.apiserver.server.http1.handshakes import Handshakes


class ServerMetrics:
    """Collector of metrics of the component, most of which never change."""

    def __init__(self, gates: Mapping[str, bool], handshakes: Handshakes, *, audits: bool) -> None:
        """``gates``: feature gates that were set. ``audits``: an auditor counts the events itself."""
        self._handshakes = handshakes
        self._gates = gates
        self._audits = audits

    async def collect(self) -> Iterable[Family]:
        """Return metrics for ``/metrics``."""
        families = [
            gauge("version_info", "Versions of the component.", [(tuple(version_labels().items()), 1)]),
            counter(
                "apiserver_tls_handshake_errors_total",
                "Connections whose TLS handshake failed.",
                [((), self._handshakes.failed)],
            ),
            gauge("kubernetes_build_info", "The build of the component.", [(tuple(build_labels().items()), 1)]),
            gauge(
                "kubernetes_feature_enabled",
                "1 for each feature gate that is on.",
                [((("name", name), ("stage", stage)), is_on) for name, stage, is_on in feature_states(self._gates)],
            ),
        ]
        if not self._audits:
            families += [
                counter("apiserver_audit_event_total", "Audit events made.", [((), 0)]),
                counter("apiserver_audit_requests_rejected_total", "Requests refused unrecorded.", [((), 0)]),
            ]
        return families
