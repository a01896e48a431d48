"""Metrics of webhooks."""

from prometheus_client import CollectorRegistry

from steersman.asynckit.clock import FakeClock
from steersman.webhooks.metrics import WebhookMetrics


async def test_requests_are_counted_by_path_and_code():
    registry, clock = CollectorRegistry(), FakeClock()
    metrics = WebhookMetrics(registry, clock)
    metrics.add_webhook("/a")

    def sample(name, **labels):
        return registry.get_sample_value(f"controller_runtime_webhook_{name}", {"webhook": "/a", **labels})

    assert [sample("requests_total", code=code) for code in ("200", "500", "400")] == [0, 0, None]
    with metrics.in_flight("/a"):
        assert sample("requests_in_flight") == 1
        await clock.advance(2)
    metrics.answered("/a", 400)
    assert (sample("requests_in_flight"), sample("requests_total", code="400")) == (0, 1)
    assert (sample("latency_seconds_count"), sample("latency_seconds_sum")) == (1, 2)
