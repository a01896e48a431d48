"""Metrics of authorization webhooks."""

from steersman.apiserver.authz.webhook_metrics import AuthorizationWebhookMetrics
from steersman.apiserver.observability.authorization_metrics import AuthorizationMetricsCollector


async def test_collector_returns_families_with_samples():
    metrics = AuthorizationWebhookMetrics()
    collector = AuthorizationMetricsCollector(metrics)
    assert list(await collector.collect()) == []
    metrics.observe_call("hook", "timeout", 1.0)
    metrics.observe_fail_open("hook", "timeout")
    metrics.observe_conditions("hook", 0.1, is_excluded=True, has_error=False)
    metrics.observe_conditions("hook", 0.1, is_excluded=False, has_error=True)
    families = {family.name: family.samples for family in await collector.collect()}
    labels = (("name", "hook"), ("result", "timeout"))
    assert families["apiserver_authorization_webhook_evaluations_total"] == [("", labels, 1)]
    assert families["apiserver_authorization_webhook_evaluations_fail_open_total"] == [("", labels, 1)]
    assert ("_count", labels, 1) in families["apiserver_authorization_webhook_duration_seconds"]
    labels = (("type", "Webhook"), ("name", "hook"))
    assert families["apiserver_authorization_match_condition_exclusions_total"] == [("", labels, 1)]
    assert families["apiserver_authorization_match_condition_evaluation_errors_total"] == [("", labels, 1)]
    assert ("_count", labels, 2) in families["apiserver_authorization_match_condition_evaluation_seconds"]
