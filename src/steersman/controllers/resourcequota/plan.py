"""Status of a ResourceQuota. Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import add_seconds
from steersman.apiserver.kinds.quota_evaluators import evaluator_for
from steersman.apiserver.kinds.shared.quota.amounts import ZERO, Amounts, only, plus, read, texts
from steersman.apiserver.kinds.shared.quota.evaluator import scope_selectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.quota.evaluator import Evaluator


#: Quota resources other than ``count/…``.
_NAMED: Final = (
    "pods", "services", "persistentvolumeclaims", "resourceclaims.resource.k8s.io", "configmaps", "resourcequotas",
    "replicationcontrollers", "secrets",
)  # fmt: skip
_COUNT: Final = "count/"


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """Status of a quota."""

    hard: Amounts
    used: Amounts

    def tree(self) -> Tree:
        """Return the status as a JSON tree."""
        return {"hard": texts(self.hard), "used": texts(self.used)}


def counted_resources(hard: Mapping[str, str]) -> list[str]:
    """Group resources whose objects a quota counts."""
    named = [name.removeprefix(_COUNT) for name in hard if name.startswith(_COUNT)]
    return [resource for resource in dict.fromkeys((*_NAMED, *named)) if evaluator_for(resource).matching(hard)]


def count(quota: Tree, objects_of: Callable[[str], Iterable[Tree] | None], *, now: datetime) -> QuotaUsage:
    """Return the status. ``objects_of`` returns the quota's objects of a group resource; None if unknown.

    Usage that cannot be counted stays as stored.
    """
    hard = read((quota.get("spec") or {}).get("hard"))
    used = read((quota.get("status") or {}).get("used"))
    for resource in counted_resources((quota.get("spec") or {}).get("hard") or {}):
        objects = objects_of(resource)
        if objects is not None:
            used |= _usage(quota, evaluator_for(resource), objects, now=now)
    return QuotaUsage(hard, only(used, hard))


def _usage(quota: Tree, evaluator: Evaluator, objects: Iterable[Tree], *, now: datetime) -> Amounts:
    names = evaluator.matching(quota["spec"]["hard"])
    scopes = scope_selectors(quota)
    total: Amounts = dict.fromkeys(names, ZERO)
    for obj in objects:
        if all(evaluator.is_in_scope(scope, obj) for scope in scopes):
            total = plus(total, only(evaluator.usage(obj, now), names))
    return total


def is_written(quota: Tree, counted: QuotaUsage) -> bool:
    """Report whether the quota has this status."""
    status = quota.get("status") or {}
    if status.get("hard") is None or status.get("used") is None:
        return False
    return read(status["hard"]) == counted.hard and read(status["used"]) == counted.used


def lowers(quota: Tree, counted: QuotaUsage) -> bool:
    """Report whether the status would report less usage than the stored one."""
    used = read((quota.get("status") or {}).get("used"))
    return any(name in counted.used and counted.used[name] < amount for name, amount in used.items())


def raises(old: Tree, new: Tree) -> bool:
    """Report whether admission incremented the usage between two states of a quota."""
    before = read((old.get("status") or {}).get("used"))
    after = read((new.get("status") or {}).get("used"))
    return any(amount > before.get(name, ZERO) for name, amount in after.items())


def seconds_to_overdue_pod(pods: Iterable[Tree], *, now: datetime) -> float | None:
    """Return the seconds until a terminating pod exceeds its grace period and is no longer counted."""
    waits = []
    for pod in pods:
        metadata = pod["metadata"]
        deleted, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
        if deleted and grace is not None:
            due = add_seconds(datetime.fromisoformat(deleted), grace)
            if due >= now:
                waits.append((due - now).total_seconds() + 1)
    return min(waits, default=None)
