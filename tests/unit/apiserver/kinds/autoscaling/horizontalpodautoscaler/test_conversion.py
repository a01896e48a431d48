from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.kinds.autoscaling.horizontalpodautoscaler.conversion import (
    BEHAVIOR,
    CONDITIONS,
    CURRENT_METRICS,
    METRICS,
    v1_to_v2,
    v2_to_v1,
)

TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
SELECTOR = {"matchLabels": {"a": "b"}}


def _cpu(utilization: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _v2(metrics: Any = None, behavior: Any = None, **status: Any) -> dict[str, Any]:
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 3}
    if metrics is not None:
        spec["metrics"] = metrics
    if behavior is not None:
        spec["behavior"] = behavior
    whole = {"desiredReplicas": 0, "currentMetrics": None, **status}
    return {"metadata": {"name": "a", "annotations": {"keep": "me"}}, "spec": spec, "status": whole}


def _annotation(tree: dict[str, Any], name: str) -> Any:
    return json.loads(tree["metadata"]["annotations"][name])


def test_v2_to_v1_sets_cpu_utilization_field():
    v1 = v2_to_v1(_v2([_cpu(50)]))
    assert v1["spec"] == {"scaleTargetRef": TARGET, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
    assert v1["metadata"]["annotations"] == {"keep": "me"}
    assert v1_to_v2(v1)["spec"]["metrics"] == [_cpu(50)]


def test_v1_to_v2_adds_cpu_metric_without_metrics():
    v2 = v1_to_v2({"metadata": {"name": "a"}, "spec": {"scaleTargetRef": TARGET, "maxReplicas": 3}})
    assert v2["spec"]["metrics"] == [_cpu(80)]


METRICS_OF_V2 = [
    (
        {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
    ),
    (
        {
            "type": "ContainerResource",
            "containerResource": {
                "name": "cpu",
                "container": "c",
                "target": {"type": "Utilization", "averageUtilization": 9},
            },
        },
        {
            "type": "ContainerResource",
            "containerResource": {"name": "cpu", "targetAverageUtilization": 9, "container": "c"},
        },
    ),
    (
        {
            "type": "Pods",
            "pods": {
                "metric": {"name": "m", "selector": SELECTOR},
                "target": {"type": "AverageValue", "averageValue": "5"},
            },
        },
        {"type": "Pods", "pods": {"metricName": "m", "targetAverageValue": "5", "selector": SELECTOR}},
    ),
    (
        {
            "type": "Object",
            "object": {
                "describedObject": {"kind": "Service", "name": "s"},
                "target": {"type": "Value", "value": "7"},
                "metric": {"name": "m"},
            },
        },
        {
            "type": "Object",
            "object": {"target": {"kind": "Service", "name": "s"}, "metricName": "m", "targetValue": "7"},
        },
    ),
    (
        {
            "type": "External",
            "external": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "7"}},
        },
        {"type": "External", "external": {"metricName": "m", "targetAverageValue": "7"}},
    ),
]


@pytest.mark.parametrize(("metric", "flat"), METRICS_OF_V2, ids=lambda metric: metric["type"])
def test_other_metrics_round_trip_in_annotation(metric, flat):
    v1 = v2_to_v1(_v2([_cpu(50), metric]))
    assert _annotation(v1, METRICS) == [flat]
    v2 = v1_to_v2(v1)
    assert v2["spec"]["metrics"] == [metric, _cpu(50)]
    assert v2["metadata"]["annotations"] == {"keep": "me"}


def _object_metric(**target: str) -> dict[str, Any]:
    return {
        "type": "Object",
        "object": {"describedObject": {"kind": "S", "name": "s"}, "target": target, "metric": {"name": "m"}},
    }


def test_v1_to_v2_drops_zero_value_beside_average():
    metric = _object_metric(type="AverageValue", averageValue="7")
    v1 = v2_to_v1(_v2([metric]))
    assert _annotation(v1, METRICS)[0]["object"]["targetValue"] == "0"
    assert v1_to_v2(v1)["spec"]["metrics"] == [metric]


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ({"averageValue": "7", "targetValue": "3"}, {"type": "AverageValue", "averageValue": "7", "value": "3"}),
        ({"averageValue": "7", "targetValue": "x"}, None),
        ({"targetValue": "0"}, {"type": "Value", "value": "0"}),
        ({}, {"type": "Value", "value": "0"}),
    ],
)
def test_v1_to_v2_converts_values_of_object_metrics(fields, target):
    source = {"target": {"kind": "S", "name": "s"}, "metricName": "m", **fields}
    annotations = {METRICS: json.dumps([{"type": "Object", "object": source}])}
    metrics = v1_to_v2({"metadata": {"annotations": annotations}, "spec": {}})["spec"]["metrics"]
    assert metrics == [_cpu(80) if target is None else _object_metric(**target)]


def test_annotations_have_go_encoding():
    selector = {"matchLabels": {"b": "1", "a": "2"}}
    target = {"type": "AverageValue", "averageValue": "5"}
    metric = {"type": "Pods", "pods": {"metric": {"name": "a<b", "selector": selector}, "target": target}}
    assert v2_to_v1(_v2([metric]))["metadata"]["annotations"][METRICS] == (
        '[{"type":"Pods","pods":{"metricName":"a\\u003cb","targetAverageValue":"5",'
        '"selector":{"matchLabels":{"a":"2","b":"1"}}}}]'
    )


def test_behavior_annotation_has_go_field_names():
    behavior = {
        "scaleUp": {"stabilizationWindowSeconds": 5, "policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}]}
    }
    v1 = v2_to_v1(_v2([_cpu(50)], behavior))
    assert _annotation(v1, BEHAVIOR) == {
        "ScaleUp": {
            "StabilizationWindowSeconds": 5,
            "SelectPolicy": None,
            "Policies": [{"Type": "Pods", "Value": 4, "PeriodSeconds": 60}],
            "Tolerance": None,
        },
        "ScaleDown": None,
    }
    assert v1_to_v2(v1)["spec"]["behavior"] == behavior


STATUSES = [
    {
        "type": "Resource",
        "resource": {"name": "cpu", "current": {"averageUtilization": 42, "averageValue": "42m"}},
    },
    {"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "1"}}},
    {
        "type": "Object",
        "object": {"metric": {"name": "m"}, "current": {"value": "1"}, "describedObject": {"kind": "S", "name": "s"}},
    },
    {"type": "External", "external": {"metric": {"name": "m"}, "current": {"value": "3", "averageValue": "1"}}},
]


def test_status_round_trips():
    condition = {"type": "AbleToScale", "status": "True", "reason": "Ready"}
    v1 = v2_to_v1(_v2([_cpu(50)], conditions=[condition], currentMetrics=STATUSES))
    assert v1["status"] == {"desiredReplicas": 0, "currentCPUUtilizationPercentage": 42}
    assert _annotation(v1, CONDITIONS) == [condition]
    assert [metric["type"] for metric in _annotation(v1, CURRENT_METRICS)] == ["Resource", "Pods", "Object", "External"]
    back = v1_to_v2(v1)["status"]
    assert back["currentMetrics"] == STATUSES
    assert [{name: one[name] for name in condition} for one in back["conditions"]] == [condition]


def test_v1_to_v2_keeps_cpu_status_without_annotation():
    v1 = {
        "metadata": {},
        "spec": {"maxReplicas": 1, "scaleTargetRef": TARGET},
        "status": {"currentCPUUtilizationPercentage": 7},
    }
    assert v1_to_v2(v1)["status"]["currentMetrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7}}}
    ]


@given(
    st.dictionaries(
        st.sampled_from([METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR]),
        st.one_of(
            st.text(max_size=5),
            st.recursive(
                st.none() | st.integers() | st.text(max_size=3),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["type", "resource", "pods", "object", "scaleUp", "name"]), inner)
                ),
                max_leaves=5,
            ).map(json.dumps),
        ),
    )
)
def test_v1_to_v2_ignores_malformed_annotations(annotations):
    tree = {
        "metadata": {"name": "a", "annotations": dict(annotations)},
        "spec": {"scaleTargetRef": TARGET, "maxReplicas": 3},
    }
    v2 = v1_to_v2(tree)
    assert v2["spec"]["metrics"]
    assert v2_to_v1(v2)["spec"]["maxReplicas"] == 3
