"""Disruption accounting of PodDisruptionBudgets: budgets of a Pod, allowed disruptions, ``disruptedPods``.

Pure; ``endpoints/eviction.py`` uses it. Upstream: ``pkg/registry/core/pod/storage/eviction.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import StatusError, forbidden, too_many_requests
from steersman.apimachinery.selectors import SelectorError, from_label_selector
from steersman.apiserver.kinds.shared.conditions import has_condition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree

CAUSE: Final = "DisruptionBudget"
DISRUPTION_ALLOWED: Final = "DisruptionAllowed"
INSUFFICIENT_PODS: Final = "InsufficientPods"
SYNC_FAILED: Final = "SyncFailed"
#: Maximum number of ``disruptedPods`` that the controller has not processed. Upstream: ``MaxDisruptedPodSize``.
DISRUPTED_PODS_MAX: Final = 2000
#: Retry-After while the controller has not observed the budget's generation.
RETRY_AFTER_SECONDS: Final = 10

_VIOLATED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_RESOURCE: Final = "poddisruptionbudget.policy"


def guarding(budgets: Iterable[Tree], pod: Tree) -> list[Tree]:
    """Return the budgets that select a Pod. No or an invalid selector selects nothing, an empty one everything."""
    labels = pod["metadata"].get("labels") or {}
    return [budget for budget in budgets if _selects(budget, labels)]


def _selects(budget: Tree, labels: dict[str, str]) -> bool:
    try:
        return from_label_selector((budget.get("spec") or {}).get("selector")).matches(labels)
    except SelectorError:
        return False


def is_guarded(pod: Tree) -> bool:
    """Report whether budgets apply to a Pod: not terminal and not pending. Upstream: ``canIgnorePDB``, negated."""
    phase = (pod.get("status") or {}).get("phase")
    return phase not in ("Succeeded", "Failed", "Pending") and not pod["metadata"].get("deletionTimestamp")


def is_terminal(pod: Tree) -> bool:
    """Report whether a Pod is terminal or being deleted, so that it cannot become healthy."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed") or bool(pod["metadata"].get("deletionTimestamp"))


def can_ignore_budget(budget: Tree, pod: Tree) -> bool:
    """Report whether an unhealthy Pod may be evicted without a disruption. Upstream: ``unhealthyPodEvictionPolicy``."""
    if has_condition(pod.get("status"), "Ready"):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy") or 0
    return bool((status.get("currentHealthy") or 0) >= desired > 0)


def check_and_decrement(budget: Tree, pod_name: str, stamp: str) -> None:
    """Record a disruption in the budget's status, in place; upstream: ``checkAndDecrement``. Raises 403, or 429 if none is allowed."""
    check_disruption(budget)
    status = budget["status"]
    status["disruptionsAllowed"] -= 1
    if not status["disruptionsAllowed"]:
        _set_insufficient_pods(status, stamp)
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: stamp}


def check_disruption(budget: Tree) -> None:
    """Raise 429 if the budget allows no disruption now, 403 if its status is invalid."""
    metadata, status = budget["metadata"], budget.get("status") or {}
    name = metadata["name"]
    allowed = status.get("disruptionsAllowed") or 0
    if (status.get("observedGeneration") or 0) < (metadata.get("generation") or 0):
        raise still_processed(name)
    if allowed < 0:
        raise forbidden(_RESOURCE, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > DISRUPTED_PODS_MAX:
        message = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(_RESOURCE, name, message)
    if not allowed:
        raise too_many_requests(_VIOLATED, causes=[{"reason": CAUSE, "message": _disallowed_message(name, status)}])


def still_processed(name: str) -> StatusError:
    """Return a 429: the disruption controller has not processed the budget or Pod yet."""
    cause = {"reason": CAUSE, "message": f"The disruption budget {name} is still being processed by the server."}
    return too_many_requests(_VIOLATED, retry_after_seconds=RETRY_AFTER_SECONDS, causes=[cause])


def _disallowed_message(name: str, status: Tree) -> str:
    """Return why a budget allows no disruption. After a failed sync, its numbers are not reported."""
    condition: Tree = next((c for c in status.get("conditions") or () if c.get("type") == DISRUPTION_ALLOWED), {})
    message = condition.get("message") if condition.get("status") == "False" else ""
    current, desired = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
    none_now = f"The disruption budget {name} does not allow evicting pods currently"
    if message and condition.get("reason") == SYNC_FAILED:
        return f"{none_now} because it failed sync: {message}"
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    return f"{none_now} ({condition.get('reason', '')}): {message}" if message else none_now


def _set_insufficient_pods(status: Tree, stamp: str) -> None:
    """Set the condition DisruptionAllowed to False."""
    conditions = list(status.get("conditions") or ())
    status["conditions"] = conditions
    new = {
        "type": DISRUPTION_ALLOWED,
        "status": "False",
        "lastTransitionTime": stamp,
        "reason": INSUFFICIENT_PODS,
        "message": "",
    }
    if status.get("observedGeneration"):
        new["observedGeneration"] = status["observedGeneration"]
    for place, existing in enumerate(conditions):
        if existing.get("type") == DISRUPTION_ALLOWED:
            if existing.get("status") == "False":
                new["lastTransitionTime"] = existing["lastTransitionTime"]
            conditions[place] = new
            return
    conditions.append(new)
