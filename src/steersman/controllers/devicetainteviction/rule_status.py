"""Condition ``EvictionInProgress`` of DeviceTaintRules (``resource.k8s.io/v1beta2``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.timestamps import format_time
from steersman.client.objects import metadata_field, name_of, uid_of
from steersman.runtime.conditions import find_condition
from steersman.workloads.node_matching import NO_EXECUTE

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from lightkube.models.resource_v1beta2 import DeviceTaintRule

    from steersman.apimachinery.trees import Tree


IN_PROGRESS: Final = "EvictionInProgress"
#: Interval of status updates while pods are evicted. Upstream: ``ruleStatusPeriod``.
PERIOD_SECONDS: Final = 10.0
_NONE: Final = "None"
_ONCE: Final = (
    "if the effect was NoExecute. This information will not be updated again. "
    "Recreate the DeviceTaintRule to trigger an update."
)


@dataclass(frozen=True, slots=True)
class RuleScope:
    """Pods, namespaces and devices that a rule affects."""

    #: Pods to evict, or that ``NoExecute`` would evict, and the number of their namespaces.
    pods: int = 0
    namespaces: int = 0
    #: Selected devices in ResourceSlices and in allocations.
    published: int = 0
    allocated: int = 0
    #: Pods evicted since the controller started.
    evicted: int = 0


def seconds_to_update(rule: DeviceTaintRule, *, now: datetime) -> float:
    """Return the seconds until the condition may be updated; 0 if the spec is newer than the condition."""
    present = _present(rule)
    if present is None or present.observedGeneration != metadata_field(rule, "generation"):
        return 0.0
    since: timedelta = now - present.lastTransitionTime
    return max(0.0, PERIOD_SECONDS - since.total_seconds())


def status_to_apply(rule: DeviceTaintRule, extent: RuleScope, *, now: datetime) -> Tree | None:
    """Return the rule with its condition for server-side apply; None if it is up to date.

    ``lastTransitionTime`` is the time of the last change of any field of the condition.
    """
    status, reason, message = _condition_fields(rule, extent)
    generation = metadata_field(rule, "generation") or 0
    present = _present(rule)
    if present is not None:
        stored = (present.status, present.reason, present.message, present.observedGeneration or 0)
        if stored == (status, reason, message, generation):
            return None
    condition: Tree = {
        "type": IN_PROGRESS,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": format_time(now),
    }
    return {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": name_of(rule), "uid": uid_of(rule)},
        "status": {"conditions": [condition]},
    }


def _present(rule: DeviceTaintRule) -> Any:
    return find_condition(rule.status.conditions if rule.status else None, IN_PROGRESS)


def _condition_fields(rule: DeviceTaintRule, extent: RuleScope) -> tuple[str, str, str]:
    """Return status, reason and message of the condition."""
    status, reason, message = "False", "OtherEffect", "Eviction only happens for the NoExecute effect."
    namespaces = _count(extent.namespaces, "namespace", "different namespaces")
    if rule.spec.taint.effect == NO_EXECUTE and extent.pods:
        status, reason = "True", "PodsPendingEviction"
        message = f"{_count(extent.pods, 'pod needs', 'pods need')} to be evicted in {namespaces}."
    elif rule.spec.taint.effect == NO_EXECUTE:
        reason, message = ("Completed" if extent.evicted else "NotStarted"), ""
    elif rule.spec.taint.effect == _NONE:
        reason = "NoEffect"
        published = _count(extent.published, "published device", "published devices")
        allocated = _count(extent.allocated, "allocated device", "allocated devices")
        message = (
            f"{published} selected. {allocated} selected. "
            f"{_count(extent.pods, 'pod', 'pods')} would be evicted in {namespaces} {_ONCE}"
        )
    if extent.evicted:
        message = f"{message} {_count(extent.evicted, 'pod', 'pods')} evicted since starting the controller.".lstrip()
    return status, reason, message


def _count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"
