"""Durations of policy checks by labels."""

import pytest
from tests.unit.apiserver.admission.policies import GROUP, RULE, Policed

from steersman.apiserver.admission.mutating_policy import MutatingAdmissionPolicy
from steersman.apiserver.admission.policy_metrics import PolicyMetrics, error_type
from steersman.apiserver.admission.validating_policy import ValidatingAdmissionPolicy


@pytest.mark.parametrize(
    ("message", "label"),
    [
        ("compilation error: must evaluate to bool but got int", "compile_error"),
        ("validation failed due to running out of cost budget, no further rules will be run", "out_of_budget"),
        ("failed expression: false", "invalid_error"),
    ],
)
def test_error_type_of_a_message(message, label):
    assert error_type(message) == label


def metered(plugin: type, metrics: PolicyMetrics) -> Policed:
    """Return a server with one plugin."""
    return Policed(lambda registry, *, authorizer: plugin(registry, authorizer=authorizer, metrics=metrics))


async def test_failed_validations_are_observed_by_action():
    metrics = PolicyMetrics()
    async with metered(ValidatingAdmissionPolicy, metrics) as server:
        await server.policy(validations=[{"expression": text} for text in ("true", "false", "object.data.none == ''")])
        await server.bind("p", validationActions=["Deny", "Audit"])
        await server.policy("q", validations=[{"expression": "object.data.none == ''"}], failurePolicy="Ignore")
        await server.bind("q")
        assert (await server.write()).code == 422
        counts = {labels: durations.count for labels, durations in metrics.validations.items()}
        assert counts == {
            ("deny", "invalid_error", "p", "p"): 2,
            ("audit", "invalid_error", "p", "p"): 2,
            ("allow", "invalid_error", "q", "q"): 1,
        }
        assert not metrics.mutations


async def test_match_conditions_of_policies_are_observed():
    metrics = PolicyMetrics()
    async with metered(ValidatingAdmissionPolicy, metrics) as server:
        await server.enforce("true", matchConditions=[{"name": "a", "expression": "object.data.none == ''"}])
        assert (await server.write()).code == 422
        labels = ("policy", "p", "CREATE", "validate")
        assert metrics.conditions.errors == {labels: 1}
        assert metrics.conditions.durations[labels].count == 1
        assert not metrics.conditions.exclusions


async def test_denials_of_audit_annotations_are_observed():
    metrics = PolicyMetrics()
    async with metered(ValidatingAdmissionPolicy, metrics) as server:
        await server.policy(auditAnnotations=[{"key": "n", "valueExpression": "string(object.data.none)"}])
        await server.bind()
        assert (await server.write()).code == 422
        assert list(metrics.validations) == [("deny", "invalid_error", "p", "p")]


async def test_mutations_are_observed():
    metrics = PolicyMetrics()
    async with metered(MutatingAdmissionPolicy, metrics) as server:
        expressions = ["Object{metadata: Object.metadata{labels: {'a': 'b'}}}", "Object{kind: object.data.none}"]
        mutations = [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}} for text in expressions
        ]
        spec = {"matchConstraints": {"resourceRules": [RULE]}, "mutations": mutations, "reinvocationPolicy": "Never"}
        await server.make(f"{GROUP}/mutatingadmissionpolicies", metadata={"name": "m"}, spec=spec)
        binding = {"policyName": "m"}
        await server.make(f"{GROUP}/mutatingadmissionpolicybindings", metadata={"name": "b"}, spec=binding)
        assert (await server.write()).code == 403
        counts = {labels: durations.count for labels, durations in metrics.mutations.items()}
        assert counts == {("no_error", "m", "b"): 1, ("invalid_error", "m", "b"): 1}
        assert not metrics.conditions.durations


async def test_match_conditions_of_mutating_policies_are_observed():
    metrics = PolicyMetrics()
    async with metered(MutatingAdmissionPolicy, metrics) as server:
        mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
        spec = {"matchConstraints": {"resourceRules": [RULE]}, "mutations": [mutation], "reinvocationPolicy": "Never"}
        spec["matchConditions"] = [{"name": "a", "expression": "false"}]
        await server.make(f"{GROUP}/mutatingadmissionpolicies", metadata={"name": "m"}, spec=spec)
        await server.make(f"{GROUP}/mutatingadmissionpolicybindings", metadata={"name": "b"}, spec={"policyName": "m"})
        assert (await server.write()).code == 201
        assert metrics.conditions.durations["policy", "m", "CREATE", "validate"].count == 1
        assert not metrics.mutations
