from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import defaulted, edited, named, texts

from steersman.apiserver.kinds.autoscaling.horizontalpodautoscaler.strategy import HorizontalPodAutoscalerStrategy
from steersman.apiserver.kinds.autoscaling.horizontalpodautoscaler.validation import (
    validate_autoscaler,
    validate_autoscaler_status,
)

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
VALID = defaulted(HorizontalPodAutoscalerStrategy(), named(spec={"scaleTargetRef": TARGET, "maxReplicas": 5}), "v2")
METRIC, AT = "spec.metrics[0]", "spec.metrics.0"
VALUE = {"type": "Value", "value": "10"}
AVERAGE = {"type": "AverageValue", "averageValue": "10"}
USE = {"type": "Utilization", "averageUtilization": 50}
SOURCES = {
    "object": {"describedObject": {"kind": "Service", "name": "s"}, "metric": {"name": "m"}, "target": VALUE},
    "external": {"metric": {"name": "m"}, "target": AVERAGE},
    "pods": {"metric": {"name": "m"}, "target": AVERAGE},
    "resource": {"name": "cpu", "target": USE},
    "containerResource": {"name": "cpu", "container": "c", "target": USE},
}
TYPES = '"ContainerResource", "External", "Object", "Pods", "Resource"'


def metric(source: str, **edits: object) -> dict:
    return {AT: {"type": source[0].upper() + source[1:], source: edited(SOURCES[source], edits)}}


@pytest.mark.parametrize("source", SOURCES)
def test_validate_autoscaler_accepts_metrics_of_each_source(source):
    assert texts(validate_autoscaler(edited(VALID, metric(source)))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.minReplicas": 0}, "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"),
        (
            {"spec.maxReplicas": 0, "spec.minReplicas": None},
            "spec.maxReplicas: Required value: must be set and greater than 0",
        ),
        (
            {"spec.maxReplicas": -1, "spec.minReplicas": None},
            "spec.maxReplicas: Invalid value: -1: must be greater than 0",
        ),
        (
            {"spec.minReplicas": 6},
            "spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`",
        ),
        ({"spec.scaleTargetRef.kind": ""}, "spec.scaleTargetRef.kind: Required value"),
        (
            {"spec.scaleTargetRef.name": ".."},
            "spec.scaleTargetRef.name: Invalid value: \"..\": may not be '..'",
        ),
        (
            {"spec.scaleTargetRef.apiVersion": "v1"},
            'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group',
        ),
        (
            {"spec.scaleTargetRef.apiVersion": "a/b/c"},
            'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        ),
        (
            {AT: {"type": "Resource"}},
            f"{METRIC}.resource: Required value: must populate information for the given metric source",
        ),
        (
            metric("resource") | {f"{AT}.pods": SOURCES["pods"]},
            f"{METRIC}.pods: Forbidden: must populate the given metric source only",
        ),
        (metric("resource", name=""), f"{METRIC}.resource.name: Required value: must specify a resource name"),
        (
            metric("containerResource", container=""),
            f"{METRIC}.containerResource.container: Required value: must specify a container",
        ),
        (
            metric("containerResource", name="gpu"),
            f'{METRIC}.containerResource.name: Invalid value: "gpu": must be a standard resource for containers',
        ),
        (
            metric("resource", **{"target.averageValue": "1"}),
            (
                f"{METRIC}.resource.target.averageValue: Forbidden: "
                "may not set both a target raw value and a target utilization"
            ),
        ),
        (
            metric("resource", target={"type": "Utilization"}),
            (
                f"{METRIC}.resource.target.averageUtilization: Required value: "
                "must set either a target raw value or a target utilization"
            ),
        ),
        (
            metric("resource", **{"target.averageUtilization": 0}),
            f"{METRIC}.resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
        ),
        (
            metric("resource", **{"target.type": ""}),
            f"{METRIC}.resource.target.type: Required value: must specify a metric target type",
        ),
        (
            metric("pods", target=VALUE),
            f"{METRIC}.pods.target.averageValue: Required value: must specify a positive target averageValue",
        ),
        (
            metric("object", **{"target.value": "-1"}),
            f'{METRIC}.object.target.value: Invalid value: "-1": must be positive',
        ),
        (
            metric("object", target={"type": "Value"}),
            f"{METRIC}.object.target.averageValue: Required value: must set either a target value or averageValue",
        ),
        (
            metric("external", target={**AVERAGE, **VALUE}),
            f"{METRIC}.external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
        ),
        (
            metric("external", **{"metric.name": ""}),
            f"{METRIC}.external.metric.name: Required value: must specify a metric name",
        ),
    ],
)
def test_validate_autoscaler_rejects_invalid_fields(edits, fault):
    assert fault in texts(validate_autoscaler(edited(VALID, edits)))


def test_validate_autoscaler_rejects_unknown_metric_type():
    unknown = f'{METRIC}.type: Unsupported value: "Feeling": supported values: {TYPES}'
    assert texts(validate_autoscaler(edited(VALID, {AT: {"type": "Feeling"}}))) == [unknown, unknown]


def test_validate_autoscaler_accepts_min_replicas_0_of_old_object():
    old = edited(VALID, {"spec.minReplicas": 0} | metric("object"))
    assert texts(validate_autoscaler(old, old)) == []


def test_validate_autoscaler_requires_object_or_external_metric_for_min_replicas_0():
    old = edited(VALID, {"spec.minReplicas": 0})
    assert texts(validate_autoscaler(old, old)) == [
        "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas"
    ]


def test_validate_autoscaler_accepts_target_without_group_of_old_object():
    old = edited(VALID, {"spec.scaleTargetRef.apiVersion": "v1"})
    assert texts(validate_autoscaler(edited(old, {"spec.maxReplicas": 6}), old)) == []
    assert len(texts(validate_autoscaler(old, VALID))) == 1


def test_validate_autoscaler_rejects_change_of_target_without_group():
    old = edited(VALID, {"spec.scaleTargetRef": {"apiVersion": "v1", "kind": "ReplicationController", "name": "d"}})
    assert texts(validate_autoscaler(edited(old, {"spec.scaleTargetRef.kind": "Deployment"}), old)) == [
        'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'
    ]


def test_validate_autoscaler_checks_container_name():
    [fault] = texts(validate_autoscaler(edited(VALID, metric("containerResource", container="No Name"))))
    assert fault.startswith(
        f'{METRIC}.containerResource.container: Invalid value: "No Name": a lowercase RFC 1123 label'
    )


def test_validate_autoscaler_reports_non_positive_target_once():
    zero = metric("pods", target={"type": "AverageValue", "averageValue": "0"})
    assert texts(validate_autoscaler(edited(VALID, zero))) == [
        f'{METRIC}.pods.target.averageValue: Invalid value: "0": must be positive'
    ]


@pytest.mark.parametrize("name", ["currentReplicas", "desiredReplicas"])
def test_validate_autoscaler_status_rejects_negative_counts(name):
    assert texts(validate_autoscaler_status({**VALID, "status": {name: -1}})) == [
        f"status.{name}: Invalid value: -1: must be greater than or equal to 0"
    ]
