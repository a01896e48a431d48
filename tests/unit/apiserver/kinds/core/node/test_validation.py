"""Validation of Nodes."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts, tree

from steersman.apiserver.kinds.core.node.validation import node_warnings, validate_node, validate_node_update


def faults(status: dict | None = None, **spec: object) -> list[str]:
    return error_texts(validate_node(tree(spec=spec, status=status or {})))


def changes(new: dict, old: dict) -> list[str]:
    return error_texts(validate_node_update(tree(spec=new), tree(spec=old)))


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"podCIDRs": ["10.0.0.0/24"]},
        {"podCIDRs": ["10.0.0.0/24", "fd00::/64"]},
        {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]},
    ],
)
def test_validate_node_accepts_valid_nodes(spec: dict):
    assert faults({"capacity": {"cpu": "1"}}, **spec) == []


@pytest.mark.parametrize(
    ("taint", "fault"),
    [
        ({"key": "a"}, "metadata.taints[0].effect: Required value"),
        (
            {"key": "a", "effect": "X"},
            (
                'metadata.taints[0].effect: Unsupported value: "X": '
                'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'
            ),
        ),
    ],
)
def test_validate_node_requires_taint_effect(taint: dict, fault: str):
    assert faults(taints=[taint]) == [fault]


def test_validate_node_requires_label_syntax_of_taints():
    first, second = faults(taints=[{"key": "a/b/c", "value": "not a label", "effect": "NoSchedule"}])
    assert first.startswith('metadata.taints[0].key: Invalid value: "a/b/c"')
    assert second.startswith('metadata.taints[0].value: Invalid value: "not a label"')


def test_validate_node_rejects_duplicate_taint_effects():
    (fault,) = faults(taints=[{"key": "a", "effect": "NoSchedule"}] * 2)
    assert fault.startswith("metadata.taints[1]: Duplicate value: {")
    assert fault.endswith("taints must be unique by key and effect pair")


@pytest.mark.parametrize("part", ["capacity", "allocatable"])
def test_validate_node_rejects_negative_amounts(part: str):
    assert faults({part: {"cpu": "-1"}}) == [
        f'status.{part}.cpu: Invalid value: "-1": must be greater than or equal to 0'
    ]


def test_validate_node_accepts_one_pod_cidr_per_family():
    cidrs = ["10.0.0.0/24", "10.0.1.0/24"]
    assert faults(podCIDRs=cidrs) == [
        (
            'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: '
            "may specify no more than one CIDR for each IP family"
        )
    ]
    (fault,) = faults(podCIDRs=["x"])
    assert fault.startswith('spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value')


def test_validate_node_reports_invalid_pod_cidrs():
    _, second, third = faults(podCIDRs=["x", "10.0.0.0/24"])
    assert second == (
        "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:"
        "invalid CIDR[0]: <nil> (invalid CIDR address: x)"
    )
    assert third.endswith("may specify no more than one CIDR for each IP family")


def test_validate_node_update_reports_each_changed_pod_cidr():
    fault = 'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'
    old = {"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}
    assert changes({"podCIDRs": ["10.0.1.0/24", "fd01::/64"]}, old) == [fault, fault]
    assert changes({"podCIDRs": ["10.0.0.0/24"]}, old) == [fault]


def test_validate_node_requires_positive_swap():
    assert faults({"nodeInfo": {"swap": {"capacity": 1}}}) == []
    assert faults({"nodeInfo": {"swap": {"capacity": 0}}}) == [
        "metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"
    ]


@pytest.mark.parametrize(
    ("features", "starts"),
    [
        (["A", "B/c", "Bc"], []),
        (["B", "A"], ['status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically']),
        (["A", "A"], ['status.declaredFeatures[1]: Duplicate value: "A"']),
        (
            ["a"],
            ['status.declaredFeatures[0]: Invalid value: "a": invalid feature name "a": must start with an UpperCamel'],
        ),
        (["A" * 254], [f'status.declaredFeatures[0]: Invalid value: "{"A" * 254}": invalid feature name ']),
    ],
)
def test_validate_node_requires_unique_sorted_features(features: list[str], starts: list[str]):
    obj = tree(status={"declaredFeatures": features})
    for result in (validate_node(obj), validate_node_update(obj, tree())):
        assert [text.startswith(start) for text, start in zip(error_texts(result), starts, strict=True)] == [
            True
        ] * len(starts)


def test_node_warnings_about_deprecated_and_ambiguous_fields():
    (first, second) = node_warnings(tree(spec={"externalID": "x", "podCIDRs": ["10.0.0.1/24"]}))
    assert first == "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    assert second.startswith('spec.podCIDRs[0]: CIDR value "10.0.0.1/24" is ambiguous in this context')


@pytest.mark.parametrize(
    ("new", "old", "fault"),
    [
        (
            {"podCIDRs": ["10.0.1.0/24"]},
            {"podCIDRs": ["10.0.0.0/24"]},
            'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        ),
        (
            {},
            {"podCIDRs": ["10.0.0.0/24"]},
            'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        ),
        (
            {"providerID": "b"},
            {"providerID": "a"},
            'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
        ),
        ({"externalID": "b"}, {"externalID": "a"}, "spec.externalID: Forbidden: may not be updated"),
    ],
)
def test_validate_node_update_rejects_changes_of_set_fields(new: dict, old: dict, fault: str):
    assert changes(new, old) == [fault]


@pytest.mark.parametrize("new", [{"podCIDRs": ["10.0.0.0/24"]}, {"providerID": "a"}, {"unschedulable": True}])
def test_validate_node_update_accepts_mutable_fields(new: dict):
    assert changes(new, {}) == []


def test_validate_node_rejects_duplicate_addresses():
    address = {"type": "InternalIP", "address": "10.0.0.1"}
    obj = tree(status={"addresses": [address, address]})
    assert error_texts(validate_node_update(obj, tree())) == [
        'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}'
    ]
