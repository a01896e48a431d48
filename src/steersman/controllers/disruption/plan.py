"""Status of a PodDisruptionBudget. Pure rules of ``pkg/controller/disruption``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec
from lightkube.models.meta_v1 import Condition
from lightkube.models.policy_v1 import PodDisruptionBudgetStatus

from steersman.apimachinery.intstr import scaled_value
from steersman.apimachinery.selectors import NOTHING, from_label_selector
from steersman.client.objects import labels_of, metadata_field, name_of, uid_of
from steersman.runtime.conditions import find_condition, with_condition
from steersman.runtime.owners import controller_of
from steersman.workloads.pods import is_finished, is_ready

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lightkube.models.core_v1 import Pod
    from lightkube.models.policy_v1 import PodDisruptionBudget

    from steersman.apimachinery.selectors import LabelSelector

#: Timeout of an admitted eviction until the deletion of its pod.
_DELETION_TIMEOUT: Final = timedelta(minutes=2)
#: Timeout of a disrupted pod until its termination starts.
_STALE_AFTER: Final = timedelta(minutes=2)
_ALLOWED: Final = "DisruptionAllowed"
_TARGET: Final = "DisruptionTarget"


class NoController(LookupError):  # noqa: N818 — named by the condition
    """A pod's controller does not exist, or its kind has no scale subresource."""


@dataclass(frozen=True, slots=True)
class Scale:
    """UID and desired replicas of a controller."""

    uid: str
    replicas: int


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected and desired healthy pods of a budget."""

    pods: int
    healthy: int
    #: Names of pods without a controller, which the budget cannot count.
    unmanaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DisruptedPods:
    """Admitted evictions whose pods are not deleted yet."""

    pods: dict[str, datetime]
    #: Pods whose deletion is overdue.
    overdue: tuple[Pod, ...] = ()
    seconds_to_recheck: float | None = None


def selector_of(budget: PodDisruptionBudget) -> LabelSelector:
    """Return the selector: None matches nothing, an empty one everything. Raises SelectorError."""
    selector = budget.spec.selector if budget.spec else None
    return NOTHING if selector is None else from_label_selector(msgspec.to_builtins(selector))


def matching(budgets: Iterable[PodDisruptionBudget], labels: Mapping[str, str]) -> list[PodDisruptionBudget]:
    """Return the budgets that select these labels."""
    return [budget for budget in budgets if selector_of(budget).matches(labels)]


def selected(budget: PodDisruptionBudget, pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods of the budget's namespace that it selects."""
    selector = selector_of(budget)
    return [pod for pod in pods if selector.matches(labels_of(pod))]


def needs_scale(budget: PodDisruptionBudget) -> bool:
    """Report whether the budget is relative to the desired replicas of controllers."""
    spec = budget.spec
    if spec is None:
        return False
    return spec.maxUnavailable is not None or isinstance(spec.minAvailable, str)


def expected_pod_count(
    budget: PodDisruptionBudget, pods: Sequence[Pod], scales: Mapping[str, Scale | None]
) -> Expected:
    """Return expected and desired pods. ``scales``: by UID of the controllers; None: no scale.

    Raises NoController, ValueError. ReplicaSets of one Deployment share its scale.
    """
    spec = budget.spec
    if spec is None or (spec.maxUnavailable is None and spec.minAvailable is None):
        return Expected(0, 0)
    if not needs_scale(budget):
        return Expected(len(pods), int(spec.minAvailable or 0))
    total, unmanaged = _total(pods, scales)
    if spec.maxUnavailable is not None:
        healthy = total - scaled_value(spec.maxUnavailable, total, round_up=True)
        return Expected(total, max(0, healthy), unmanaged)
    assert spec.minAvailable is not None
    return Expected(total, scaled_value(spec.minAvailable, total, round_up=True), unmanaged)


def _total(pods: Sequence[Pod], scales: Mapping[str, Scale | None]) -> tuple[int, tuple[str, ...]]:
    unmanaged: list[str] = []
    counted: dict[str, int] = {}
    for pod in pods:
        owner = controller_of(pod)
        if owner is None:
            unmanaged.append(name_of(pod))
            continue
        scale = scales.get(owner.uid)
        if scale is None:
            raise NoController(f'found no controllers for pod "{name_of(pod)}"')
        counted[scale.uid] = scale.replicas
    return sum(counted.values()), tuple(unmanaged)


def build_disrupted_pods(budget: PodDisruptionBudget, pods: Iterable[Pod], *, now: datetime) -> DisruptedPods:
    """Return the evictions recorded by the API server that are still pending."""
    disrupted = (budget.status.disruptedPods if budget.status else None) or {}
    waiting: dict[str, datetime] = {}
    overdue: list[Pod] = []
    waits: list[float] = []
    for pod in pods if disrupted else ():
        since = _moment(disrupted.get(name_of(pod)))
        if since is None or metadata_field(pod, "deletionTimestamp") is not None:
            continue
        due = since + _DELETION_TIMEOUT
        if due < now:
            overdue.append(pod)
        else:
            waiting[name_of(pod)] = since
            waits.append((due - now).total_seconds())
    return DisruptedPods(waiting, tuple(overdue), min(waits, default=None))


def count_healthy_pods(pods: Iterable[Pod], waiting: Mapping[str, datetime]) -> int:
    """Return the number of pods that are ready and neither deleted nor disrupted."""
    return sum(
        is_ready(pod) and metadata_field(pod, "deletionTimestamp") is None and name_of(pod) not in waiting
        for pod in pods
    )


def updated_pdb_status(
    budget: PodDisruptionBudget, expected: Expected, healthy: int, waiting: Mapping[str, datetime], *, now: datetime
) -> PodDisruptionBudgetStatus:
    """Return the status. Without expected pods no disruption is allowed, as pods may not be created yet."""
    allowed = max(0, healthy - expected.healthy) if expected.pods > 0 else 0
    generation = metadata_field(budget, "generation") or 0
    condition = Condition(
        type=_ALLOWED,
        status="True" if allowed else "False",
        reason="SufficientPods" if allowed else "InsufficientPods",
        message="",
        observedGeneration=generation,
        lastTransitionTime=now,
    )
    return PodDisruptionBudgetStatus(
        currentHealthy=healthy,
        desiredHealthy=expected.healthy,
        expectedPods=expected.pods,
        disruptionsAllowed=allowed,
        disruptedPods=dict(waiting) or None,
        observedGeneration=generation,
        conditions=_with(budget, condition),
    )


def fail_safe_status(budget: PodDisruptionBudget, message: str, *, now: datetime) -> PodDisruptionBudgetStatus:
    """Return the status after an error, which allows no disruption."""
    old = budget.status or PodDisruptionBudgetStatus(
        currentHealthy=0, desiredHealthy=0, disruptionsAllowed=0, expectedPods=0
    )
    condition = Condition(
        type=_ALLOWED,
        status="False",
        reason="SyncFailed",
        message=message,
        observedGeneration=old.observedGeneration,
        lastTransitionTime=now,
    )
    return msgspec.structs.replace(old, disruptionsAllowed=0, conditions=_with(budget, condition))


def is_written(budget: PodDisruptionBudget, new: PodDisruptionBudgetStatus) -> bool:
    """Report whether the budget has this status, apart from times of conditions."""
    old = budget.status
    return old is not None and msgspec.structs.replace(old, disruptedPods=old.disruptedPods or None) == new


def seconds_to_stale(pod: Pod, *, now: datetime) -> float | None:
    """Return the seconds until the pod's ``DisruptionTarget`` is stale; None if it does not apply.

    A condition set by the kubelet may precede the termination by long.
    """
    condition = find_condition(pod.status.conditions if pod.status else None, _TARGET)
    if condition is None or condition.status != "True" or condition.reason == "TerminationByKubelet":
        return None
    if is_finished(pod) or metadata_field(pod, "deletionTimestamp") is not None:
        return None
    since = condition.lastTransitionTime or now
    return max(0.0, (since + _STALE_AFTER - now).total_seconds())


def stale_patch(pod: Pod, *, now: str) -> dict[str, Any]:
    """Return the strategic merge patch that resets the condition."""
    condition: dict[str, Any] = {
        "type": _TARGET, "status": "False", "reason": None, "message": None, "lastTransitionTime": now,
    }  # fmt: skip
    generation = metadata_field(pod, "generation")
    if generation:
        condition["observedGeneration"] = generation
    return {"metadata": {"uid": uid_of(pod)}, "status": {"conditions": [condition]}}


def _with(budget: PodDisruptionBudget, condition: Condition) -> list[Condition]:
    old = budget.status.conditions if budget.status else None
    return with_condition(old, condition, now=condition.lastTransitionTime)  # type: ignore[arg-type]


def _moment(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value
