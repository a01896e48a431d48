"""Strategy of HorizontalPodAutoscalers, stored as ``autoscaling/v2``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.autoscaling.horizontalpodautoscaler.conversion import METRICS, take_annotations
from steersman.apiserver.kinds.autoscaling.horizontalpodautoscaler.validation import (
    validate_autoscaler,
    validate_autoscaler_status,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext

#: Metric source type → field of its source. ``_metric_name`` reads the name of those that have one.
_SOURCES: Final = {
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "External": "external",
}
_SHOWN_MAX: Final = 2


class HorizontalPodAutoscalerStrategy(Strategy):
    """Strategy of HorizontalPodAutoscalers; metrics default to 80% CPU utilization."""

    group_resource = "horizontalpodautoscalers.autoscaling"
    columns = (
        columns.NAME_COLUMN,
        Column("Reference", field="autoscaling.v2.HorizontalPodAutoscalerSpec.scaleTargetRef"),
        Column("Targets", field="autoscaling.v2.HorizontalPodAutoscalerSpec.metrics"),
        Column("MinPods", field="autoscaling.v2.HorizontalPodAutoscalerSpec.minReplicas"),
        Column("MaxPods", field="autoscaling.v2.HorizontalPodAutoscalerSpec.maxReplicas"),
        Column("Replicas", field="autoscaling.v2.HorizontalPodAutoscalerStatus.currentReplicas"),
        columns.AGE_COLUMN,
    )

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("minReplicas") is None:
            spec["minReplicas"] = 1
        if version == "v1":
            annotations = obj.get("metadata", {}).get("annotations") or {}
            if spec.get("targetCPUUtilizationPercentage") is None and METRICS not in annotations:
                spec["targetCPUUtilizationPercentage"] = 80
            return
        # v2 has fields for what v1 holds in annotations, which are stale here
        take_annotations(obj.get("metadata") or {})
        if not spec.get("metrics"):
            target = {"type": "Utilization", "averageUtilization": 80}
            spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        if spec.get("behavior") is not None:
            _default_behavior(spec["behavior"])

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_autoscaler(obj))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_autoscaler(obj, old))

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_autoscaler_status(obj))

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec, status = obj["spec"], obj.get("status") or {}
        target = spec.get("scaleTargetRef") or {}
        minimum = spec.get("minReplicas")
        return [
            columns.name_of(obj),
            f"{target.get('kind', '')}/{target.get('name', '')}",
            _targets(spec.get("metrics") or (), status.get("currentMetrics") or ()),
            columns.UNSET if minimum is None else str(minimum),
            spec.get("maxReplicas", 0),
            status.get("currentReplicas", 0),
            columns.age(obj, now),
        ]


def _default_behavior(behavior: Tree) -> None:
    """Default the scaling rules of both directions (KEP-853)."""
    up = behavior.setdefault("scaleUp", {})
    up.setdefault("stabilizationWindowSeconds", 0)
    up.setdefault("selectPolicy", "Max")
    if up.get("policies") is None:
        up["policies"] = [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ]
    down = behavior.setdefault("scaleDown", {})
    down.setdefault("selectPolicy", "Max")
    if down.get("policies") is None:
        down["policies"] = [{"type": "Percent", "value": 100, "periodSeconds": 15}]


def _targets(metrics: Any, current: Any) -> str:
    """Return current and target value of the first two metrics, and the number of further ones.

    Upstream: ``formatHPAMetrics``.
    """
    if not metrics:
        return columns.NONE
    targets = [_target(m, current[i] if i < len(current) else None) for i, m in enumerate(metrics[:_SHOWN_MAX])]
    text = ", ".join(targets)
    return f"{text} + {len(metrics) - _SHOWN_MAX} more..." if len(metrics) > _SHOWN_MAX else text


def _target(metric: Tree, current: Tree | None) -> str:
    kind = metric.get("type", "")
    place = _SOURCES.get(kind)
    if place is None:
        return "<unknown type>"
    source = metric.get(place) or {}
    target = source.get("target") or {}
    measured = ((current or {}).get(place) or {}).get("current") or {}
    by_use = kind in ("Resource", "ContainerResource")
    name = f"{source.get('name', '')}: " if by_use else ""
    if target.get("averageValue") is not None:
        suffix = " (avg)" if kind in ("Object", "External") else ""
        return f"{name}{measured.get('averageValue') or columns.UNKNOWN}/{target['averageValue']}{suffix}"
    if by_use:
        used, desired = measured.get("averageUtilization"), target.get("averageUtilization")
        have = columns.UNKNOWN if used is None else f"{used}%"
        return f"{name}{have}/{'<auto>' if desired is None else f'{desired}%'}"
    return f"{measured.get('value') or columns.UNKNOWN}/{target.get('value') or columns.UNKNOWN}"
