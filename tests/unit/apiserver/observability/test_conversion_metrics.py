"""Metrics of conversion webhooks."""

from steersman.apiserver.crd.conversion_metrics import ConversionMetrics
from steersman.apiserver.observability.conversion_metrics import ConversionMetricsCollector


async def test_collector_returns_families_with_samples():
    metrics = ConversionMetrics()
    collector = ConversionMetricsCollector(metrics)
    assert not list(await collector.collect())
    metrics.observe("a.example.com", "v1", "v2", seconds=0.01)
    requests, durations, conversions = await collector.collect()
    assert list(requests.samples) == [("", (("failure_type", ""), ("result", "success")), 1)]
    assert [value for suffix, _, value in durations.samples if suffix == "_count"] == [1]
    assert conversions.samples[0][1][-1] == ("le", "0.001")
