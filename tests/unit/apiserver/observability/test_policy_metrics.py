"""Metrics of admission policies."""

from steersman.apiserver.admission.policy_metrics import NO_ERROR, PolicyMetrics
from steersman.apiserver.observability.policy_metrics import PolicyMetricsCollector


async def test_collector_returns_families_with_samples():
    metrics = PolicyMetrics()
    collector = PolicyMetricsCollector(metrics)
    assert not list(await collector.collect())
    metrics.observe_validation("deny", "invalid_error", "p", "b", 0.002)
    totals, durations = await collector.collect()
    labels = (
        ("enforcement_action", "deny"), ("error_type", "invalid_error"), ("policy", "p"), ("policy_binding", "b"),
    )  # fmt: skip
    assert (totals.name, list(totals.samples)) == (
        "apiserver_validating_admission_policy_check_total",
        [("", labels, 1)],
    )
    assert durations.name == "apiserver_validating_admission_policy_check_duration_seconds"
    buckets = [(pairs[-1][1], value) for suffix, pairs, value in durations.samples if suffix == "_bucket"]
    assert buckets == [("5e-07", 0), ("0.001", 0), ("0.01", 1), ("0.1", 1), ("1", 1), ("+Inf", 1)]
    metrics.observe_mutation(NO_ERROR, "m", "b", 0.0)
    assert [family.name for family in await collector.collect()][2:] == [
        "apiserver_mutating_admission_policy_check_total",
        "apiserver_mutating_admission_policy_check_duration_seconds",
    ]
