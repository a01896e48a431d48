"""Metrics of versions and feature gates."""

from pathlib import Path

from prometheus_client import CollectorRegistry
from tests.e2e.metric_names import ABSENT

from steersman.controlplane.component_metrics import add_component_metrics


def test_version_and_feature_gates_are_reported():
    registry = CollectorRegistry()
    add_component_metrics(registry, gates={"CoordinatedLeaderElection": True})
    version = {"component": "kube", "binary": "1.36", "emulation": "1.36", "min_compat": "1.35"}
    assert registry.get_sample_value("version_info", version) == 1
    gates = {
        sample.labels["name"]: (sample.labels["stage"], sample.value)
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == "kubernetes_feature_enabled"
    }
    assert gates["CoordinatedLeaderElection"] == ("BETA", 1)
    assert gates["AllAlpha"] == ("ALPHA", 0)


def test_absent_metrics_of_upstream_are_listed_in_the_docs():
    page = (Path(__file__).parents[3] / "docs" / "compatibility.md").read_text()
    rows = page.partition("| absent | reason |")[2]
    absent = set().union(*ABSENT.values())
    assert {name for name in absent if f"`{name}`" not in rows} == set()
