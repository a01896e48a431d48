"""Node selection rules of pods."""

from __future__ import annotations

import msgspec
import pytest
from lightkube.models.core_v1 import Node, PodSpec, Taint, Toleration

from steersman.workloads.node_matching import NO_EXECUTE, required_node_affinity_matches, tolerates, untolerated

NODE = msgspec.convert({"metadata": {"name": "n", "labels": {"zone": "a", "cpus": "8"}}}, Node)


def required(*terms):
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}
    return {"affinity": affinity}


def expression(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def field(operator, *values):
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, True),
        ({"nodeSelector": {"zone": "a"}}, True),
        ({"nodeSelector": {"zone": "b"}}, False),
        (required(expression("zone", "In", "a", "b")), True),
        (required(expression("zone", "NotIn", "a")), False),
        (required(expression("gpu", "Exists")), False),
        (required(expression("gpu", "DoesNotExist")), True),
        (required(expression("cpus", "Gt", "4")), True),
        (required(expression("cpus", "Lt", "4")), False),
        (required(expression("zone", "In", "b"), expression("cpus", "In", "8")), True),
        (required({}), False),
        (required(field("In", "n")), True),
        (required(field("NotIn", "n")), False),
        (required({**field("In", "n"), **expression("zone", "In", "b")}), False),
        ({"nodeSelector": {"zone": "b"}, **required(field("In", "n"))}, False),
    ],
)
def test_required_node_affinity_matches_labels_and_names(spec, expected):
    assert required_node_affinity_matches(msgspec.convert({"containers": [], **spec}, PodSpec), NODE) is expected


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "5"}, True),
        ({"key": "k", "value": "6"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "k", "operator": "Lt", "value": "6"}, True),
        ({"key": "k", "operator": "Gt", "value": "6"}, False),
        ({"key": "k", "operator": "Gt", "value": "many"}, False),
    ],
)
def test_tolerates_matches_key_value_and_effect(toleration, expected):
    taint = Taint(key="k", value="5", effect="NoSchedule")
    assert tolerates(msgspec.convert(toleration, Toleration), taint) is expected


def test_untolerated_ignores_other_effects():
    taints = [Taint(key="a", effect="PreferNoSchedule"), Taint(key="b", effect="NoSchedule")]
    assert untolerated(taints, []) is taints[1]
    assert untolerated(taints, [], effects=(NO_EXECUTE,)) is None
    assert untolerated(taints, [Toleration(key="b", operator="Exists")]) is None
