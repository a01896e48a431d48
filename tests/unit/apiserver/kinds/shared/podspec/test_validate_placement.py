"""Validation of scheduling constraints."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.rules import TEMPLATE_RULES, PodRules
from steersman.apiserver.kinds.shared.podspec.validate_placement import (
    validate_affinity,
    validate_gates,
    validate_node_selector,
    validate_tolerations,
    validate_topology_spread_constraints,
)

P = Path("p")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node_faults(**requirement: object) -> list[str]:
    selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", **requirement}]}]}
    return error_texts(validate_node_selector(selector, P))


E = "p.nodeSelectorTerms[0].matchExpressions[0]"


@pytest.mark.parametrize(
    "requirement",
    [
        {"operator": "In", "values": ["x"]},
        {"operator": "Exists"},
        {"operator": "Gt", "values": ["5"]},
        {"operator": "DoesNotExist", "key": "example.com/a"},
    ],
)
def test_validate_node_selector_accepts_labels(requirement: dict):
    assert node_faults(**requirement) == []


@pytest.mark.parametrize(
    ("requirement", "fault"),
    [
        ({"operator": "In"}, f"{E}.values: Required value: must be specified when `operator` is 'In' or 'NotIn'"),
        (
            {"operator": "Exists", "values": ["x"]},
            f"{E}.values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
        (
            {"operator": "Gt", "values": ["1", "2"]},
            f"{E}.values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
        ),
        ({"operator": "Like"}, f'{E}.operator: Invalid value: "Like": not a valid selector operator'),
    ],
)
def test_validate_node_selector_checks_values_of_operator(requirement: dict, fault: str):
    assert node_faults(**requirement) == [fault]


def test_validate_node_selector_requires_a_term():
    assert error_texts(validate_node_selector({}, P)) == [
        "p.nodeSelectorTerms: Required value: must have at least one node selector term"
    ]


@pytest.mark.parametrize(
    ("requirement", "fault"),
    [
        (
            {"key": "metadata.uid", "operator": "In", "values": ["x"]},
            (
                'p.nodeSelectorTerms[0].matchFields[0].key: Invalid value: "metadata.uid": '
                "not a valid field selector key"
            ),
        ),
        (
            {"key": "metadata.name", "operator": "Exists"},
            'p.nodeSelectorTerms[0].matchFields[0].operator: Invalid value: "Exists": not a valid selector operator',
        ),
        (
            {"key": "metadata.name", "operator": "In", "values": ["x", "y"]},
            (
                "p.nodeSelectorTerms[0].matchFields[0].values: Required value: "
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            ),
        ),
    ],
)
def test_validate_node_selector_accepts_field_metadata_name_only(requirement: dict, fault: str):
    assert error_texts(validate_node_selector({"nodeSelectorTerms": [{"matchFields": [requirement]}]}, P)) == [fault]


# -- affinity ---------------------------------------------------------------------------------------------------------


def affinity_faults(kind: str, rules: PodRules = TEMPLATE_RULES, **terms: object) -> list[str]:
    return error_texts(validate_affinity({kind: terms}, P, rules))


@pytest.mark.parametrize("weight", [0, 101, -1])
def test_validate_affinity_requires_weights_from_1_to_100(weight: int):
    path = f"p.nodeAffinity.{PREFERRED}[0].weight"
    terms = {PREFERRED: [{"weight": weight, "preference": {}}]}
    assert affinity_faults("nodeAffinity", **terms) == [f"{path}: Invalid value: {weight}: must be in the range 1-100"]


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize(
    ("term", "faults"),
    [
        ({"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}, []),
        (
            {"topologyKey": "zone", "matchLabelKeys": ["a"]},
            ["matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"],
        ),
        (
            {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]},
            ['matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys'],
        ),
    ],
)
def test_validate_affinity_checks_selectors_of_pod_terms(kind: str, term: dict, faults: list[str]):
    assert affinity_faults(kind, **{REQUIRED: [term]}) == [f"p.{kind}.{REQUIRED}[0].{fault}" for fault in faults]


def test_validate_affinity_requires_topology_key():
    first, *rest = affinity_faults("podAffinity", **{REQUIRED: [{"labelSelector": {}}]})
    assert first == f"p.podAffinity.{REQUIRED}[0].topologyKey: Required value: can not be empty"
    assert all(fault.startswith(f"p.podAffinity.{REQUIRED}[0].topologyKey: Invalid value") for fault in rest)


def test_validate_affinity_accepts_invalid_values_of_old_pods():
    term = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["no label"]}]}]}
    assert len(affinity_faults("nodeAffinity", **{REQUIRED: term})) == 1
    assert affinity_faults("nodeAffinity", PodRules(allow_invalid_node_affinity_values=True), **{REQUIRED: term}) == []


# -- tolerations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"key": "a"},
        {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
        {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
    ],
)
def test_validate_tolerations_accepts_valid_tolerations(toleration: dict):
    assert error_texts(validate_tolerations([toleration], P)) == []


@pytest.mark.parametrize(
    ("toleration", "fault"),
    [
        (
            {"operator": "Equal"},
            (
                'p[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, '
                'which means "match all values and all keys"'
            ),
        ),
        (
            {"key": "a", "operator": "Exists", "value": "b"},
            "p[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
        ),
        (
            {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1},
            "p[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
        ({"key": "a", "operator": "Is"}, 'p[0].operator: Unsupported value: "Is": supported values: "Equal", "Exists"'),
        (
            {"key": "a", "effect": "X"},
            'p[0].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
        ),
    ],
)
def test_validate_tolerations_rejects_invalid_tolerations(toleration: dict, fault: str):
    assert error_texts(validate_tolerations([toleration], P)) == [fault]


# -- topology spread and gates --------------------------------------------------------------------------------------


def spread_faults(*constraints: dict, rules: PodRules = TEMPLATE_RULES) -> list[str]:
    usual = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    return error_texts(validate_topology_spread_constraints([{**usual, **one} for one in constraints], P, rules))


@pytest.mark.parametrize(
    ("constraint", "fault"),
    [
        ({"maxSkew": 0}, "p[0].maxSkew: Invalid value: 0: must be greater than zero"),
        ({"topologyKey": ""}, "p[0].topologyKey: Required value: can not be empty"),
        (
            {"whenUnsatisfiable": "X"},
            'p[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway"',
        ),
        ({"minDomains": 0}, "p[0].minDomains: Invalid value: 0: must be greater than zero"),
        (
            {"minDomains": 1, "whenUnsatisfiable": "ScheduleAnyway"},
            (
                "p[0].minDomains: Invalid value: 1: "
                "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
            ),
        ),
        (
            {"nodeTaintsPolicy": "X"},
            'p[0].nodeTaintsPolicy: Unsupported value: "X": supported values: "Honor", "Ignore"',
        ),
        (
            {"labelSelector": None, "matchLabelKeys": ["a"]},
            "p[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
        ),
        (
            {
                "labelSelector": {
                    "matchLabels": {"a": "b"},
                    "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
                },
                "matchLabelKeys": ["a"],
            },
            'p[0][0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector',
        ),
    ],
)
def test_validate_topology_spread_constraints_rejects_invalid_constraints(constraint: dict, fault: str):
    assert spread_faults(constraint) == [fault]


def test_validate_topology_spread_constraints_rejects_duplicate_key_and_action():
    assert spread_faults({}, {}) == ['p[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"']


def test_validate_label_keys_accepts_one_requirement_of_key_in_selector():
    """The merge added it to a Pod's selector; in a template, the client's own requirement cannot be distinguished from
    it.
    """
    merged = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]}
    assert spread_faults({"labelSelector": merged, "matchLabelKeys": ["a"]}) == []


def test_validate_gates_rejects_invalid_and_duplicate_names():
    spec = {"readinessGates": [{"conditionType": "a/b/c"}], "schedulingGates": [{"name": "g"}, {"name": "g"}]}
    first, second = error_texts(validate_gates(spec, P))
    assert first.startswith('p.readinessGates[0].conditionType: Invalid value: "a/b/c"')
    assert second == 'p.schedulingGates[1]: Duplicate value: "g"'
