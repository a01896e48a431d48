"""Metrics of match conditions."""

from steersman.apiserver.admission.condition_metrics import ConditionMetrics
from steersman.apiserver.admission.validating_policy_rules import Conditions

WEBHOOK = ("webhook", "a", "CREATE", "admit")
POLICY = ("policy", "a", "CREATE", "validate")


def test_observe_counts_errors_and_exclusions():
    metrics = ConditionMetrics()
    for conditions in (
        Conditions(hold=True, seconds=0.002),
        Conditions(hold=False, errors=2, seconds=0.5),
        Conditions(hold=False, failure="no", errors=1),
    ):
        for kind, name, operation, type_ in (WEBHOOK, POLICY):
            metrics.observe(conditions, kind=kind, name=name, operation=operation, type_=type_)
    assert {labels: durations.counts for labels, durations in metrics.durations.items()} == {
        WEBHOOK: [1, 1, 0, 0, 0, 0, 0, 1],
        POLICY: [1, 1, 0, 0, 0, 0, 0, 1],
    }
    assert metrics.errors == {WEBHOOK: 3, POLICY: 3}
    assert metrics.exclusions == {WEBHOOK: 1}
