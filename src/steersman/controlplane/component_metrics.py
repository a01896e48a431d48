"""Metrics common to all components: version and feature gates. Upstream: ``k8s.io/component-base``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import Gauge

from steersman.controlplane.component_info import build_labels, feature_states, version_labels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prometheus_client import CollectorRegistry


def add_component_metrics(registry: CollectorRegistry, *, gates: Mapping[str, bool] | None = None) -> None:
    """Add versions, build and feature gates; ``gates`` are those that differ from their defaults."""
    for name, text, labels in (
        ("version_info", "Versions of the component", version_labels()),
        ("kubernetes_build_info", "The build of the component", build_labels()),
    ):
        Gauge(name, text, tuple(labels), registry=registry).labels(**labels).set(1)
    enabled = Gauge(
        "kubernetes_feature_enabled", "1 for each feature gate that is on", ("name", "stage"), registry=registry
    )
    for name, stage, is_on in feature_states(gates or {}):
        enabled.labels(name, stage).set(is_on)
