"""What a PodDisruptionBudget says of one more disruption: which budgets guard a pod, whether they allow it, and how they
count it. Pure.
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
SUFFICIENT_PODS: Final = "SufficientPods"
INSUFFICIENT_PODS: Final = "InsufficientPods"
SYNC_FAILED: Final = "SyncFailed"
#: More disrupted pods than this, of which the controller has not heard yet, are too many (``MaxDisruptedPodSize``).
DISRUPTED_PODS_MAX: Final = 2000
#: When to try again while the controller has not seen the budget as it is now.
RETRY_AFTER_SECONDS: Final = 10

_VIOLATED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_RESOURCE: Final = "poddisruptionbudget.policy"


def guarding(budgets: Iterable[Tree], pod: Tree) -> list[Tree]:
    """The budgets that select a pod. No selector selects nothing, an empty one all pods, a bad one nothing."""
    labels = pod["metadata"].get("labels") or {}
    return [budget for budget in budgets if _selects(budget, labels)]


def _selects(budget: Tree, labels: dict[str, str]) -> bool:
    try:
        return from_label_selector((budget.get("spec") or {}).get("selector")).matches(labels)
    except SelectorError:
        return False


def is_guarded(pod: Tree) -> bool:
    """Whether budgets count for a pod: it runs (or is lost), and nobody deletes it yet."""
    phase = (pod.get("status") or {}).get("phase")
    return phase not in ("Succeeded", "Failed", "Pending") and not pod["metadata"].get("deletionTimestamp")


def is_terminal(pod: Tree) -> bool:
    """Whether a pod has run to its end or is being deleted: it will never be healthy again."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed") or bool(pod["metadata"].get("deletionTimestamp"))


def is_free(budget: Tree, pod: Tree) -> bool:
    """Whether a guarded pod may go without being counted: it is not healthy, and the budget does not mind."""
    if has_condition(pod.get("status"), "Ready"):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy") or 0
    return bool((status.get("currentHealthy") or 0) >= desired > 0)


def take_disruption(budget: Tree, pod_name: str, stamp: str) -> None:
    """Count one more disruption in the budget's status, which may be changed. Raises 403, 429 when there is none left."""
    check_disruption(budget)
    status = budget["status"]
    status["disruptionsAllowed"] -= 1
    if not status["disruptionsAllowed"]:
        _say_insufficient(status, stamp)
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: stamp}


def check_disruption(budget: Tree) -> None:
    """Raises 429 when the budget allows no disruption now, 403 when it is broken."""
    metadata, status = budget["metadata"], budget.get("status") or {}
    name = metadata["name"]
    allowed = status.get("disruptionsAllowed") or 0
    if (status.get("observedGeneration") or 0) < (metadata.get("generation") or 0):
        raise still_processed(name)
    if allowed < 0:
        raise forbidden(_RESOURCE, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > DISRUPTED_PODS_MAX:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(_RESOURCE, name, why)
    if not allowed:
        raise too_many_requests(_VIOLATED, causes=[{"reason": CAUSE, "message": _why_none(name, status)}])


def still_processed(name: str) -> StatusError:
    """429: the budget, or what is known of the pod, is about to change."""
    cause = {"reason": CAUSE, "message": f"The disruption budget {name} is still being processed by the server."}
    return too_many_requests(_VIOLATED, retry_after_seconds=RETRY_AFTER_SECONDS, causes=[cause])


def _why_none(name: str, status: Tree) -> str:
    """In words, why a budget allows nothing. After a failed sync its numbers are not to be trusted."""
    condition: Tree = next((c for c in status.get("conditions") or () if c.get("type") == DISRUPTION_ALLOWED), {})
    message = condition.get("message") if condition.get("status") == "False" else ""
    current, desired = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
    none_now = f"The disruption budget {name} does not allow evicting pods currently"
    if message and condition.get("reason") == SYNC_FAILED:
        return f"{none_now} because it failed sync: {message}"
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    return f"{none_now} ({condition.get('reason', '')}): {message}" if message else none_now


def _say_insufficient(status: Tree, stamp: str) -> None:
    """The condition of a budget that is used up."""
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
    for place, known in enumerate(conditions):
        if known.get("type") == DISRUPTION_ALLOWED:
            if known.get("status") == "False":
                new["lastTransitionTime"] = known["lastTransitionTime"]
            conditions[place] = new
            return
    conditions.append(new)
