"""Conversion of HorizontalPodAutoscalers between autoscaling/v1 and autoscaling/v2.

v1 has fields for a CPU target only; other fields of v2 are kept in annotations and survive a write through v1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery import quantity
from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.gotext import to_json
from steersman.schema.decoding import decode
from steersman.schema.loader import struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from steersman.apimachinery.trees import Tree


_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
METRICS: Final = _PREFIX + "metrics"
CURRENT_METRICS: Final = _PREFIX + "current-metrics"
CONDITIONS: Final = _PREFIX + "conditions"
BEHAVIOR: Final = _PREFIX + "behavior"
_ANNOTATIONS: Final = (METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR)

#: Default metrics of v2.
DEFAULT_CPU_UTILIZATION: Final = 80

_CONDITION_FIELDS: Final = ("type", "status", "lastTransitionTime", "reason", "message")
_RULE_FIELDS: Final = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY_FIELDS: Final = ("type", "value", "periodSeconds")


def v1_to_v2(tree: Tree) -> Tree:
    """Convert to v2, changing ``tree`` in place."""
    spec = dict(tree.get("spec") or {})
    status = dict(tree.get("status") or {})
    v2_fields = take_annotations(tree["metadata"])
    target = spec.pop("targetCPUUtilizationPercentage", None)
    metrics = _readable("MetricSpec", map(_metric_to_v2, _objects(v2_fields.get(METRICS))))
    # as upstream, the CPU metric of v1's field comes last
    metrics += [] if target is None else [_cpu_metric(target)]
    spec["metrics"] = metrics or [_cpu_metric(DEFAULT_CPU_UTILIZATION)]
    behavior = _readable("HorizontalPodAutoscalerBehavior", [_lower_keys(_parse(v2_fields.get(BEHAVIOR)))])
    if behavior and behavior[0]:
        spec["behavior"] = behavior[0]
    current = status.pop("currentCPUUtilizationPercentage", None)
    statuses = _readable("MetricStatus", map(_metric_status_to_v2, _objects(v2_fields.get(CURRENT_METRICS))))
    if not statuses and current is not None:
        statuses = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": current}}}]
    status["currentMetrics"] = statuses
    conditions = _readable("HorizontalPodAutoscalerCondition", _objects(v2_fields.get(CONDITIONS)))
    if conditions:
        status["conditions"] = conditions
    return {**tree, "spec": spec, "status": status}


def v2_to_v1(tree: Tree) -> Tree:
    """Convert to v1, changing ``tree`` in place."""
    spec = dict(tree.get("spec") or {})
    status = dict(tree.get("status") or {})
    metadata = tree["metadata"]
    take_annotations(metadata)
    metrics = spec.pop("metrics", None) or []
    statuses = status.pop("currentMetrics", None) or []
    conditions = status.pop("conditions", None) or []
    behavior = spec.pop("behavior", None)
    target = _first_cpu(metrics, "target")
    if target is not None:
        spec["targetCPUUtilizationPercentage"] = target
    current = _first_cpu(statuses, "current")
    if current is not None:
        status["currentCPUUtilizationPercentage"] = current
    others = [_metric_to_v1(metric) for metric in metrics if _cpu_utilization(metric, "target") is None]
    v2_only = {
        METRICS: others,
        BEHAVIOR: _upper_behavior(behavior) if behavior else None,
        CURRENT_METRICS: [_metric_status_to_v1(metric) for metric in statuses],
        CONDITIONS: [_only(condition, _CONDITION_FIELDS) for condition in conditions],
    }
    annotations = {name: to_json(value) for name, value in v2_only.items() if value}
    if annotations:
        metadata["annotations"] = {**metadata.get("annotations", {}), **annotations}
    return {**tree, "spec": spec, "status": status}


def take_annotations(metadata: Tree) -> dict[str, str]:
    """Remove the annotations that hold v2 fields from ``metadata`` and return them."""
    annotations: dict[str, str] = metadata.get("annotations") or {}
    taken: dict[str, str] = {name: annotations[name] for name in _ANNOTATIONS if name in annotations}
    if taken:
        rest = {name: value for name, value in annotations.items() if name not in taken}
        if rest:
            metadata["annotations"] = rest
        else:
            del metadata["annotations"]
    return taken


def _parse(text: str | None) -> Any:
    """Parse an annotation; None if it is malformed (clients may write anything)."""
    try:
        return msgspec.json.decode(text) if text else None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _objects(text: str | None) -> Iterable[Tree]:
    parsed = _parse(text)
    if not isinstance(parsed, list) or not all(isinstance(item, dict) for item in parsed):
        return ()
    return parsed


def _readable(kind: str, items: Iterable[Any]) -> list[Tree]:
    """Return the items in the form of v2; empty if any item is malformed."""
    try:
        return [decode(struct(f"io.k8s.api.autoscaling.v2.{kind}"), item).tree for item in items]
    except DecodeError:
        return []


def _only(source: Tree, names: Iterable[str]) -> Tree:
    return {name: source[name] for name in names if source.get(name) is not None}


def _cpu_metric(utilization: int) -> Tree:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _cpu_utilization(metric: Tree, part: str) -> int | None:
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    utilization: int | None = (resource.get(part) or {}).get("averageUtilization")
    return utilization


def _first_cpu(metrics: Iterable[Tree], part: str) -> int | None:
    return next(
        (utilization for metric in metrics if (utilization := _cpu_utilization(metric, part)) is not None), None
    )


# -- metrics: flat fields in v1
# -------------------------------------------------------------------------------------------


def _metric_to_v1(metric: Tree) -> Tree:
    return _each_source(metric, _SOURCES_TO_V1)


def _metric_to_v2(metric: Tree) -> Tree:
    return _each_source(metric, _SOURCES_TO_V2)


def _metric_status_to_v1(metric: Tree) -> Tree:
    return _each_source(metric, _STATUSES_TO_V1)


def _metric_status_to_v2(metric: Tree) -> Tree:
    return _each_source(metric, _STATUSES_TO_V2)


def _each_source(metric: Tree, changes: Mapping[str, Callable[[Tree], Tree]]) -> Tree:
    changed: Tree = {"type": metric.get("type", "")}
    for name, change in changes.items():
        source = metric.get(name)
        if isinstance(source, dict):
            changed[name] = {key: value for key, value in change(source).items() if value is not None}
    return changed


def _part(source: Tree, name: str) -> Tree:
    part = source.get(name)
    return part if isinstance(part, dict) else {}


def _selector(metric: Tree) -> Tree | None:
    """Return the selector of a metric with sorted labels, as Go prints maps."""
    selector: Tree | None = metric.get("selector")
    if selector and selector.get("matchLabels"):
        return {**selector, "matchLabels": dict(sorted(selector["matchLabels"].items()))}
    return selector


def _metric_of(source: Tree, *, selector: str = "selector") -> Tree:
    metric = {"name": source.get("metricName", ""), "selector": source.get(selector)}
    return {key: value for key, value in metric.items() if value is not None}


def _present(**fields: Any) -> Tree:
    return {name: value for name, value in fields.items() if value is not None}


def _object_to_v1(source: Tree) -> Tree:
    metric, target = _part(source, "metric"), _part(source, "target")
    return {
        "target": source.get("describedObject"),
        "metricName": metric.get("name", ""),
        "targetValue": target.get("value") or "0",
        "selector": _selector(metric),
        "averageValue": target.get("averageValue"),
    }


def _object_to_v2(source: Tree) -> Tree:
    value, average = source.get("targetValue") or "0", source.get("averageValue")
    kind = "Value" if average is None else "AverageValue"
    # v1 always has a value, so a zero value beside an average is unset
    target_value = value if average is None or not _is_zero(value) else None
    return {
        "describedObject": source.get("target"),
        "metric": _metric_of(source),
        "target": _present(type=kind, value=target_value, averageValue=average),
    }


def _is_zero(value: Any) -> bool:
    try:
        return not quantity.parse(str(value))
    except ValueError:
        return False


def _pods_to_v1(source: Tree) -> Tree:
    metric, target = _part(source, "metric"), _part(source, "target")
    return {
        "metricName": metric.get("name", ""),
        "targetAverageValue": target.get("averageValue") or "0",
        "selector": _selector(metric),
    }


def _pods_to_v2(source: Tree) -> Tree:
    target = {"type": "AverageValue", "averageValue": source.get("targetAverageValue") or "0"}
    return {"metric": _metric_of(source), "target": target}


def _resource_to_v1(source: Tree) -> Tree:
    target = _part(source, "target")
    return {
        "name": source.get("name", ""),
        "targetAverageUtilization": target.get("averageUtilization"),
        "targetAverageValue": target.get("averageValue"),
        "container": source.get("container"),
    }


def _resource_to_v2(source: Tree) -> Tree:
    utilization = source.get("targetAverageUtilization")
    kind = "AverageValue" if utilization is None else "Utilization"
    target = _present(type=kind, averageUtilization=utilization, averageValue=source.get("targetAverageValue"))
    return {"name": source.get("name", ""), "target": target, "container": source.get("container")}


def _external_to_v1(source: Tree) -> Tree:
    metric, target = _part(source, "metric"), _part(source, "target")
    return {
        "metricName": metric.get("name", ""),
        "metricSelector": _selector(metric),
        "targetValue": target.get("value"),
        "targetAverageValue": target.get("averageValue"),
    }


def _external_to_v2(source: Tree) -> Tree:
    value, average = source.get("targetValue"), source.get("targetAverageValue")
    kind = "AverageValue" if value is None else "Value"
    return {
        "metric": _metric_of(source, selector="metricSelector"),
        "target": _present(type=kind, value=value, averageValue=average),
    }


def _object_status_to_v1(source: Tree) -> Tree:
    metric, current = _part(source, "metric"), _part(source, "current")
    return {
        "target": source.get("describedObject"),
        "metricName": metric.get("name", ""),
        "currentValue": current.get("value") or "0",
        "selector": _selector(metric),
        "averageValue": current.get("averageValue"),
    }


def _object_status_to_v2(source: Tree) -> Tree:
    current = _present(value=source.get("currentValue"), averageValue=source.get("averageValue"))
    return {"describedObject": source.get("target"), "metric": _metric_of(source), "current": current}


def _pods_status_to_v1(source: Tree) -> Tree:
    metric, current = _part(source, "metric"), _part(source, "current")
    return {
        "metricName": metric.get("name", ""),
        "currentAverageValue": current.get("averageValue") or "0",
        "selector": _selector(metric),
    }


def _pods_status_to_v2(source: Tree) -> Tree:
    return {"metric": _metric_of(source), "current": _present(averageValue=source.get("currentAverageValue"))}


def _resource_status_to_v1(source: Tree) -> Tree:
    current = _part(source, "current")
    return {
        "name": source.get("name", ""),
        "currentAverageUtilization": current.get("averageUtilization"),
        "currentAverageValue": current.get("averageValue") or "0",
        "container": source.get("container"),
    }


def _resource_status_to_v2(source: Tree) -> Tree:
    current = _present(
        averageUtilization=source.get("currentAverageUtilization"), averageValue=source.get("currentAverageValue")
    )
    return {"name": source.get("name", ""), "current": current, "container": source.get("container")}


def _external_status_to_v1(source: Tree) -> Tree:
    metric, current = _part(source, "metric"), _part(source, "current")
    return {
        "metricName": metric.get("name", ""),
        "metricSelector": _selector(metric),
        "currentValue": current.get("value") or "0",
        "currentAverageValue": current.get("averageValue"),
    }


def _external_status_to_v2(source: Tree) -> Tree:
    current = _present(value=source.get("currentValue"), averageValue=source.get("currentAverageValue"))
    return {"metric": _metric_of(source, selector="metricSelector"), "current": current}


_SOURCES_TO_V1: Final = {
    "object": _object_to_v1,
    "pods": _pods_to_v1,
    "resource": _resource_to_v1,
    "containerResource": _resource_to_v1,
    "external": _external_to_v1,
}
_SOURCES_TO_V2: Final = {
    "object": _object_to_v2,
    "pods": _pods_to_v2,
    "resource": _resource_to_v2,
    "containerResource": _resource_to_v2,
    "external": _external_to_v2,
}
_STATUSES_TO_V1: Final = {
    "object": _object_status_to_v1,
    "pods": _pods_status_to_v1,
    "resource": _resource_status_to_v1,
    "containerResource": _resource_status_to_v1,
    "external": _external_status_to_v1,
}
_STATUSES_TO_V2: Final = {
    "object": _object_status_to_v2,
    "pods": _pods_status_to_v2,
    "resource": _resource_status_to_v2,
    "containerResource": _resource_status_to_v2,
    "external": _external_status_to_v2,
}


# -- behavior: the annotation has Go's field names, as upstream encodes the internal type
# ---------------------------------


def _upper_behavior(behavior: Tree) -> Tree:
    return {name[0].upper() + name[1:]: _upper_rules(behavior.get(name)) for name in ("scaleUp", "scaleDown")}


def _upper_rules(rules: Tree | None) -> Tree | None:
    if rules is None:
        return None
    policies = rules.get("policies")
    whole = {name: rules.get(name) for name in _RULE_FIELDS}
    if policies is not None:
        whole["policies"] = [_upper({name: policy.get(name) for name in _POLICY_FIELDS}) for policy in policies]
    return _upper(whole)


def _upper(fields: Tree) -> Tree:
    return {name[0].upper() + name[1:]: value for name, value in fields.items()}


def _lower_keys(value: Any) -> Any:
    """Return the value with field names of v2 and without nulls."""
    if isinstance(value, dict):
        return {name[:1].lower() + name[1:]: _lower_keys(item) for name, item in value.items() if item is not None}
    return [_lower_keys(item) for item in value] if isinstance(value, list) else value
