"""Counters of conversion webhooks."""

from steersman.apiserver.crd.conversion_metrics import ConversionMetrics, FailureType


def test_observe_counts_by_outcome_versions_and_latency():
    metrics = ConversionMetrics()
    metrics.observe("a.example.com", "v1", "v2", seconds=0.003)
    metrics.observe("a.example.com", "v1", "v2", seconds=100, failure=FailureType.CALL)
    failed = ("conversion_webhook_call_failure", "failure")
    assert metrics.requests == {("", "success"): 1, failed: 1}
    assert metrics.request_durations[failed].counts[-1] == 1
    succeeded = metrics.conversion_durations["a.example.com", "v1", "true", "v2"]
    assert (succeeded.counts[2], succeeded.total) == (1, 0.003)
    assert ("a.example.com", "v1", "false", "v2") in metrics.conversion_durations
