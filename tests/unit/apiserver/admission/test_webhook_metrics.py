"""Counters of webhook calls."""

from steersman.apiserver.admission.webhook_metrics import RejectionError, WebhookMetrics


def test_codes_above_600_count_as_600():
    metrics = WebhookMetrics()
    metrics.observe_call("a", "admit", "CREATE", seconds=1.0, is_rejected=True, code=999)
    metrics.observe_rejection("a", "admit", "CREATE", RejectionError.NONE, 999)
    assert list(metrics.requests) == [("600", "a", "CREATE", "true", "admit")]
    assert list(metrics.rejections) == [("no_error", "a", "CREATE", "600", "admit")]
