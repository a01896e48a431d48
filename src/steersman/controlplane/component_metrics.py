"""Metrics common to all components: version and feature gates. Upstream: ``k8s.io/component-base``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import Gauge

from steersman.controlplane.known_feature_gates import GA, KNOWN_FEATURE_GATES
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prometheus_client import CollectorRegistry

#: Upstream's ``DefaultKubeComponent``.
_COMPONENT: Final = "kube"


def add_component_metrics(registry: CollectorRegistry, *, gates: Mapping[str, bool] | None = None) -> None:
    """Add ``version_info`` and ``kubernetes_feature_enabled``; ``gates`` are those that differ from their defaults."""
    major, minor, *_ = KUBERNETES_VERSION.removeprefix("v").split(".")
    version = f"{major}.{minor}"
    info = Gauge(
        "version_info",
        "Versions of the component",
        ("component", "binary", "emulation", "min_compat"),
        registry=registry,
    )
    info.labels(_COMPONENT, version, version, f"{major}.{int(minor) - 1}").set(1)
    enabled = Gauge(
        "kubernetes_feature_enabled", "1 for each feature gate that is on", ("name", "stage"), registry=registry
    )
    for name, gate in KNOWN_FEATURE_GATES.items():
        stage = "" if gate.stage == GA else gate.stage
        enabled.labels(name, stage).set((gates or {}).get(name, gate.default))
