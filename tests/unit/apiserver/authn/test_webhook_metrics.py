"""Counters of token reviews."""

from steersman.apiserver.authn.webhook_metrics import TokenReviewMetrics


def test_attempts_are_counted_by_status_code():
    metrics = TokenReviewMetrics()
    for code in ("200", "200", "<error>"):
        metrics.observe_attempt(code, 0.1)
    assert {labels: durations.count for labels, durations in metrics.durations.items()} == {
        ("200",): 2,
        ("<error>",): 1,
    }
