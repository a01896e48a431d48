from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named

from steersman.apiserver.kinds.autoscaling.horizontalpodautoscaler.strategy import HorizontalPodAutoscalerStrategy
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

STRATEGY = HorizontalPodAutoscalerStrategy()
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}


def scaler(version: str = "v2", **spec: object) -> dict:
    return defaulted(STRATEGY, edited(named(spec={"scaleTargetRef": TARGET, "maxReplicas": 5, **spec}), {}), version)


def test_default_sets_cpu_utilization_metric():
    assert scaler()["spec"]["metrics"] == [CPU]


@pytest.mark.parametrize(("fields", "minimum"), [({}, 1), ({"minReplicas": 0}, 0), ({"minReplicas": 3}, 3)])
def test_default_sets_min_replicas_1(fields, minimum):
    assert scaler(**fields)["spec"]["minReplicas"] == minimum


def test_default_sets_scaling_rules():
    assert scaler(behavior={})["spec"]["behavior"] == {
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
        },
        "scaleDown": {
            "selectPolicy": "Max",
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        },
    }


def test_default_keeps_given_scaling_rules():
    rules = {"stabilizationWindowSeconds": 5, "selectPolicy": "Min", "policies": [{"type": "Pods"}]}
    assert scaler(behavior={"scaleUp": rules})["spec"]["behavior"]["scaleUp"] == rules


def test_default_keeps_empty_list_of_policies():
    struct = struct_for("autoscaling", "v2", "HorizontalPodAutoscaler")
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 5, "behavior": {"scaleDown": {"policies": []}}}
    decoded = defaulted(STRATEGY, decode(struct, named(spec=spec)).tree, "v2")
    assert [str(error) for error in STRATEGY.validate(CONTEXT, decoded)] == [
        "spec.behavior.scaleDown.policies: Required value: must specify at least one Policy"
    ]


def test_v2_write_drops_annotations_of_v1():
    annotations = {"autoscaling.alpha.kubernetes.io/metrics": "[]", "autoscaling.alpha.kubernetes.io/behavior": "x"}
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 5}
    new = defaulted(STRATEGY, edited(named(spec=spec), {"metadata.annotations": {"k": "v", **annotations}}), "v2")
    assert new["metadata"]["annotations"] == {"k": "v"}
    old = defaulted(STRATEGY, edited(named(spec=spec), {"metadata.annotations": dict(annotations)}), "v1")
    assert old["metadata"]["annotations"] == annotations


def test_v1_write_sets_cpu_utilization():
    spec = scaler("v1")["spec"]
    assert (spec["targetCPUUtilizationPercentage"], spec.get("metrics")) == (80, None)


def test_v1_annotation_with_metrics_replaces_cpu_utilization():
    old = {"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": "[]"}}, "spec": {}}
    assert "targetCPUUtilizationPercentage" not in defaulted(STRATEGY, old, "v1")["spec"]


def test_prepare_for_status_update_keeps_spec():
    new = edited(scaler(), {"spec.maxReplicas": 9, "status.desiredReplicas": 3})
    STRATEGY.prepare_for_status_update(CONTEXT, new, scaler())
    assert (new["spec"], new["status"]) == (scaler()["spec"], {"desiredReplicas": 3})


@pytest.mark.parametrize(
    ("metrics", "current", "shown"),
    [
        ([], [], "<none>"),
        ([CPU], [], "cpu: <unknown>/80%"),
        ([CPU], [{"resource": {"current": {"averageUtilization": 35}}}], "cpu: 35%/80%"),
        ([CPU] * 3, [], "cpu: <unknown>/80%, cpu: <unknown>/80% + 1 more..."),
        (
            [{"type": "Pods", "pods": {"target": {"averageValue": "10"}}}],
            [{"pods": {"current": {"averageValue": "5"}}}],
            "5/10",
        ),
        ([{"type": "External", "external": {"target": {"averageValue": "10"}}}], [], "<unknown>/10 (avg)"),
        ([{"type": "Object", "object": {"target": {"value": "10"}}}], [], "<unknown>/10"),
        ([{"type": "Other"}], [], "<unknown type>"),
    ],
)
def test_cells_show_current_and_target_metrics(metrics, current, shown):
    tree = edited(scaler(), {"spec.metrics": metrics, "status": {"currentMetrics": current, "currentReplicas": 2}})
    assert STRATEGY.cells(tree, NOW) == ["a", "Deployment/d", shown, "1", 5, 2, "60s"]
