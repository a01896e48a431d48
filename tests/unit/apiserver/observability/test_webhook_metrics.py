"""Metrics of admission webhooks."""

from steersman.apiserver.admission.webhook_metrics import WebhookMetrics
from steersman.apiserver.observability.webhook_metrics import WebhookMetricsCollector


async def test_collector_returns_families_with_samples():
    metrics = WebhookMetrics()
    collector = WebhookMetricsCollector(metrics)
    assert not list(await collector.collect())
    metrics.observe_call("a", "admit", "CREATE", seconds=0.01, is_rejected=False, code=200)
    durations, requests = await collector.collect()
    assert durations.samples[0][1][-1] == ("le", "0.005")
    assert [value for suffix, _, value in durations.samples if suffix == "_count"] == [1]
    labels = (("code", "200"), ("name", "a"), ("operation", "CREATE"), ("rejected", "false"), ("type", "admit"))
    assert list(requests.samples) == [("", labels, 1)]
