"""Metrics of the scheduler under upstream's names; ``tests/e2e/test_secure_serving.py`` compares all of them."""

from types import SimpleNamespace

from prometheus_client import CollectorRegistry

from steersman.scheduler.core import AssumedPod, UnschedulablePod
from steersman.scheduler.metrics import SchedulerMetrics

PROFILE = SimpleNamespace(name="default-scheduler")


def make_metrics(queue=None, cluster=None):
    registry = CollectorRegistry()
    queue = queue or SimpleNamespace(counts=dict, incoming={}, unschedulable_pods=list)
    metrics = SchedulerMetrics(queue, cluster or SimpleNamespace(sizes=dict), ["default-scheduler"])
    registry.register(metrics)
    return metrics, registry.get_sample_value


def placed(**queued):
    return AssumedPod(SimpleNamespace(**queued), PROFILE, "n", None, None)


def failed(victims=None, *, is_fault=False):
    return UnschedulablePod(None, PROFILE, "no", victims, is_fault=is_fault)


def test_attempts_and_victims_are_histograms():
    metrics, value = make_metrics()
    metrics.bound(placed(since=1.0, attempts=2), started=3.5, now=4.0)
    metrics.decided(failed(SimpleNamespace(pods=["a", "b", "c"])), 0.5)
    assert value("scheduler_pod_scheduling_attempts_sum") == 2
    assert value("scheduler_pod_scheduling_sli_duration_seconds_sum") == 3
    assert value("scheduler_preemption_victims_bucket", {"le": "2"}) == 0
    assert value("scheduler_preemption_victims_sum") == 3
    assert value("scheduler_preemption_attempts_total") == 1


def test_attempts_end_with_the_binding():
    metrics, value = make_metrics()
    pod = placed(since=0.0, attempts=1)
    metrics.decided(pod, 0.25)
    attempts, seconds = "scheduler_schedule_attempts_total", "scheduler_scheduling_attempt_duration_seconds_sum"
    labels = {"profile": "default-scheduler"}
    assert value("scheduler_scheduling_algorithm_duration_seconds_sum") == 0.25
    assert value(attempts, {"result": "scheduled", **labels}) == 0
    metrics.bound(pod, started=1.0, now=2.0)
    metrics.not_bound(pod, 0.5)
    metrics.decided(failed(), 0.125)
    metrics.decided(failed(is_fault=True), 2.0)
    assert (value(attempts, {"result": "scheduled", **labels}), value(seconds, {"result": "scheduled", **labels})) == (
        1,
        1,
    )
    assert (value(attempts, {"result": "error", **labels}), value(seconds, {"result": "error", **labels})) == (2, 2.5)
    assert value(attempts, {"result": "unschedulable", **labels}) == 1
    assert value("scheduler_scheduling_algorithm_duration_seconds_count") == 1


def test_queues_and_cache_are_counted_on_scrape():
    unschedulable = [
        SimpleNamespace(unschedulable_plugins=plugins, pod=SimpleNamespace(scheduler="default-scheduler"))
        for plugins in (frozenset(["NodeAffinity", "TaintToleration"]), frozenset(["NodeAffinity"]))
    ]
    queue = SimpleNamespace(
        counts=dict, incoming={("NodeAdd", "active"): 3}, unschedulable_pods=lambda: iter(unschedulable)
    )
    _, value = make_metrics(queue, SimpleNamespace(sizes=lambda: {"nodes": 2, "pods": 5, "assumed_pods": 1}))
    assert value("scheduler_queue_incoming_pods_total", {"event": "NodeAdd", "queue": "active"}) == 3
    rejected = {"plugin": "NodeAffinity", "profile": "default-scheduler"}
    assert value("scheduler_unschedulable_pods", rejected) == 2
    assert value("scheduler_cache_size", {"type": "assumed_pods"}) == 1
