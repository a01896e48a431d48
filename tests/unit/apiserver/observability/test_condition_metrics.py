"""Metrics of match conditions."""

from steersman.apiserver.admission.condition_metrics import ConditionMetrics
from steersman.apiserver.admission.validating_policy_rules import Conditions
from steersman.apiserver.observability.condition_metrics import ConditionMetricsCollector


async def test_collector_returns_families_with_samples():
    metrics = ConditionMetrics()
    collector = ConditionMetricsCollector(metrics)
    assert not list(await collector.collect())
    conditions = Conditions(hold=False, errors=1, seconds=0.002)
    metrics.observe(conditions, kind="webhook", name="a", operation="CREATE", type_="admit")
    labels = (("kind", "webhook"), ("name", "a"), ("operation", "CREATE"), ("type", "admit"))
    durations, errors, exclusions = await collector.collect()
    assert durations.name == "apiserver_admission_match_condition_evaluation_seconds"
    assert [value for suffix, _, value in durations.samples if suffix == "_count"] == [1]
    for family in (errors, exclusions):
        assert list(family.samples) == [("", labels, 1)]
