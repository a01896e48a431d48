import pytest
from prometheus_client import CollectorRegistry, generate_latest

from steersman.asynckit.clock import FakeClock
from steersman.client.workqueue import WorkQueue
from steersman.client.workqueue.prometheus import QueueMetricsFamilies


@pytest.fixture
def registry():
    return CollectorRegistry()


async def worked_queue(clock, registry):
    """Return a queue.

    A key waited 2 s, was processed for 3 s, was added again and has been in process for 4 s; another one waits.
    """
    queue = WorkQueue("pods", clock=clock, metrics=QueueMetricsFamilies(registry).queue("pods"))
    queue.add("a")
    await clock.advance(2)
    await queue.get()
    queue.add("a")
    queue.add("a")
    await clock.advance(3)
    queue.done("a")
    await queue.get()
    queue.add_after("b", 1)
    await clock.advance(4)
    return queue


@pytest.mark.parametrize(
    ("series", "value"),
    [
        ("workqueue_depth", 1),
        ("workqueue_adds_total", 3),
        ("workqueue_retries_total", 1),
        ("workqueue_queue_duration_seconds_sum", 5),
        ("workqueue_queue_duration_seconds_count", 2),
        ("workqueue_work_duration_seconds_sum", 3),
        ("workqueue_unfinished_work_seconds", 4),
        ("workqueue_longest_running_processor_seconds", 4),
    ],
)
async def test_metrics_are_those_of_client_go(registry, series, value):
    await worked_queue(FakeClock(), registry)
    assert registry.get_sample_value(series, {"name": "pods"}) == value


def test_buckets_are_those_of_client_go(registry):
    QueueMetricsFamilies(registry).queue("pods")
    text = generate_latest(registry).decode()
    buckets = [line for line in text.splitlines() if line.startswith("workqueue_work_duration_seconds_bucket")]
    assert len(buckets) == 13
    assert '{le="1e-08",name="pods"}' in buckets[0]
    assert '{le="1000.0",name="pods"}' in buckets[-2]
