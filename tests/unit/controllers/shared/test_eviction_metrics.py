"""Metrics of controllers that delete Pods because of taints."""

from prometheus_client import CollectorRegistry

from steersman.controllers.shared.eviction_metrics import EvictionMetrics


def test_deletion_is_counted_with_its_latency():
    registry = CollectorRegistry()
    metrics = EvictionMetrics(registry, subsystem="example_controller")
    metrics.record_deletion(latency_seconds=0.3)
    metrics.record_deletion(latency_seconds=200)
    assert registry.get_sample_value("example_controller_pod_deletions_total") == 2
    assert registry.get_sample_value("example_controller_pod_deletion_duration_seconds_bucket", {"le": "0.5"}) == 1
    assert registry.get_sample_value("example_controller_pod_deletion_duration_seconds_sum") == 200.3
