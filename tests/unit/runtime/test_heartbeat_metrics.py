from prometheus_client import CollectorRegistry

from steersman.runtime.heartbeat_metrics import PrometheusHeartbeatMetrics


class Heartbeat:
    def __init__(self, namespace, age_seconds):
        self.namespace, self.age_seconds = namespace, age_seconds


def test_renewals_and_failures_are_counted_by_namespace():
    registry = CollectorRegistry()
    metrics = PrometheusHeartbeatMetrics(registry)
    metrics.renewed(namespace="a", duration_seconds=0.5)
    metrics.renewed(namespace="a", duration_seconds=1)
    metrics.failed(namespace="a", operation="update")
    labels = {"namespace": "a"}
    assert registry.get_sample_value("lease_heartbeat_renew_duration_seconds_sum", labels) == 1.5
    assert registry.get_sample_value("lease_heartbeat_renew_duration_seconds_count", labels) == 2
    assert registry.get_sample_value("lease_heartbeat_failures_total", {**labels, "operation": "update"}) == 1


def test_age_is_that_of_the_oldest_running_heartbeat_of_a_namespace():
    registry = CollectorRegistry()
    metrics = PrometheusHeartbeatMetrics(registry)
    first, second, other = Heartbeat("a", 3), Heartbeat("a", 7), Heartbeat("b", 1)
    for heartbeat in (first, second, other):
        metrics.started(heartbeat)

    def age(namespace):
        return registry.get_sample_value("lease_heartbeat_age_seconds", {"namespace": namespace})

    assert (age("a"), age("b")) == (7, 1)
    first.age_seconds = 9
    assert age("a") == 9
    metrics.stopped(first)
    metrics.stopped(other)
    assert (age("a"), age("b")) == (7, None)
