"""Metrics of the scheduler under upstream's names; ``tests/e2e/test_secure_serving.py`` compares all of them."""

from types import SimpleNamespace

from prometheus_client import CollectorRegistry

from steersman.scheduler.metrics import SchedulerMetrics


def test_attempts_and_victims_are_histograms():
    registry = CollectorRegistry()
    metrics = SchedulerMetrics(SimpleNamespace(counts=dict), ["default-scheduler"])
    registry.register(metrics)
    metrics.bound(SimpleNamespace(queued=SimpleNamespace(since=1.0, attempts=2)), now=4.0)
    failed = SimpleNamespace(
        profile=SimpleNamespace(name="default-scheduler"), victims=SimpleNamespace(pods=["a", "b", "c"])
    )
    metrics.attempted(failed, 0.5)
    assert registry.get_sample_value("scheduler_pod_scheduling_attempts_sum") == 2
    assert registry.get_sample_value("scheduler_pod_scheduling_sli_duration_seconds_sum") == 3
    assert registry.get_sample_value("scheduler_preemption_victims_bucket", {"le": "2"}) == 0
    assert registry.get_sample_value("scheduler_preemption_victims_sum") == 3
    assert registry.get_sample_value("scheduler_preemption_attempts_total") == 1
