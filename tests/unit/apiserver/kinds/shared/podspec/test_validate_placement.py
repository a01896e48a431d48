"""Affinity, tolerations, spreading, gates."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import told

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
    return told(validate_node_selector(selector, P))


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
def test_nodes_are_chosen_by_labels(requirement: dict):
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
def test_values_fit_their_operator(requirement: dict, fault: str):
    assert node_faults(**requirement) == [fault]


def test_a_selector_has_a_term():
    assert told(validate_node_selector({}, P)) == [
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
def test_of_fields_only_the_name_chooses(requirement: dict, fault: str):
    assert told(validate_node_selector({"nodeSelectorTerms": [{"matchFields": [requirement]}]}, P)) == [fault]


# -- affinity ---------------------------------------------------------------------------------------------------------


def affinity_faults(kind: str, rules: PodRules = TEMPLATE_RULES, **terms: object) -> list[str]:
    return told(validate_affinity({kind: terms}, P, rules))


@pytest.mark.parametrize("weight", [0, 101, -1])
def test_weights_are_from_1_to_100(weight: int):
    where = f"p.nodeAffinity.{PREFERRED}[0].weight"
    terms = {PREFERRED: [{"weight": weight, "preference": {}}]}
    assert affinity_faults("nodeAffinity", **terms) == [f"{where}: Invalid value: {weight}: must be in the range 1-100"]


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
def test_terms_about_other_pods_have_selectors(kind: str, term: dict, faults: list[str]):
    assert affinity_faults(kind, **{REQUIRED: [term]}) == [f"p.{kind}.{REQUIRED}[0].{fault}" for fault in faults]


def test_terms_about_other_pods_say_how_near():
    first, *rest = affinity_faults("podAffinity", **{REQUIRED: [{"labelSelector": {}}]})
    assert first == f"p.podAffinity.{REQUIRED}[0].topologyKey: Required value: can not be empty"
    assert all(fault.startswith(f"p.podAffinity.{REQUIRED}[0].topologyKey: Invalid value") for fault in rest)


def test_values_no_label_can_have_stay_in_old_pods():
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
def test_usual_tolerations_are_let_through(toleration: dict):
    assert told(validate_tolerations([toleration], P)) == []


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
def test_what_is_wrong_with_a_toleration_is_told(toleration: dict, fault: str):
    assert told(validate_tolerations([toleration], P)) == [fault]


# -- spreading and gates ----------------------------------------------------------------------------------------------


def spread_faults(*constraints: dict, rules: PodRules = TEMPLATE_RULES) -> list[str]:
    usual = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    return told(validate_topology_spread_constraints([{**usual, **one} for one in constraints], P, rules))


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
def test_what_is_wrong_with_a_constraint_is_told(constraint: dict, fault: str):
    assert spread_faults(constraint) == [fault]


def test_one_constraint_for_each_key_and_action():
    assert spread_faults({}, {}) == ['p[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"']


def test_one_mention_of_a_key_in_the_selector_may_be_its_own():
    """A Pod's selector was given it by the merge; in a template the client's own mention is not told apart from that."""
    merged = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]}
    assert spread_faults({"labelSelector": merged, "matchLabelKeys": ["a"]}) == []


def test_gates_have_names_and_each_holds_once():
    spec = {"readinessGates": [{"conditionType": "a/b/c"}], "schedulingGates": [{"name": "g"}, {"name": "g"}]}
    first, second = told(validate_gates(spec, P))
    assert first.startswith('p.readinessGates[0].conditionType: Invalid value: "a/b/c"')
    assert second == 'p.schedulingGates[1]: Duplicate value: "g"'
