"""Counters of authorization webhooks."""

from steersman.apiserver.authz.webhook_metrics import AuthorizationWebhookMetrics


def test_calls_are_counted_by_name_and_result():
    metrics = AuthorizationWebhookMetrics()
    for seconds in (0.1, 20.0):
        metrics.observe_call("hook", "success", seconds)
    metrics.observe_call("hook", "error", 0.1)
    metrics.observe_fail_open("hook", "error")
    assert metrics.evaluations == {("hook", "success"): 2, ("hook", "error"): 1}
    assert metrics.durations[("hook", "success")].count == 2
    assert metrics.fail_open == {("hook", "error"): 1}


def test_conditions_are_counted_by_type_and_name():
    metrics = AuthorizationWebhookMetrics()
    for is_excluded, has_error in ((False, False), (True, False), (False, True)):
        metrics.observe_conditions("hook", 0.01, is_excluded=is_excluded, has_error=has_error)
    labels = ("Webhook", "hook")
    assert metrics.condition_durations[labels].count == 3
    assert (metrics.condition_exclusions, metrics.condition_errors) == ({labels: 1}, {labels: 1})
