"""Pod predicates of controllers (active, ready, available), and Pods created from a template. Typed structs only.

Upstream: ``pkg/api/v1/pod`` and ``pkg/controller``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lightkube.models.core_v1 import Pod
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference

from steersman.apimachinery.names import check_dns1123_subdomain
from steersman.apimachinery.timestamps import add_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from lightkube.models.core_v1 import PodCondition, PodTemplateSpec

    from steersman.runtime.owners import Owner

#: Annotation; Pods of a ReplicaSet with a lower cost are deleted first.
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_COST_MAX: Final = 2**31
#: Name of the index with values of ``node_names``, shared by controllers.
BY_NODE: Final = "node"


def phase_of(pod: Pod) -> str:
    """Return ``status.phase``; empty without a status."""
    return (pod.status.phase if pod.status else None) or ""


def node_of(pod: Pod) -> str:
    """Return ``spec.nodeName``; empty for an unassigned Pod."""
    return (pod.spec.nodeName if pod.spec else None) or ""


def node_names(pod: Pod) -> tuple[str, ...]:
    """Return the keys of a Pod in the index of Pods by node (``BY_NODE``)."""
    name = node_of(pod)
    return (name,) if name else ()


def is_finished(pod: Pod) -> bool:
    """Report whether the Pod has succeeded or failed (``IsPodTerminal``)."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: Pod) -> bool:
    """Report whether the Pod is neither finished nor being deleted."""
    return not is_finished(pod) and _deleted_at(pod) is None


def is_terminating(pod: Pod) -> bool:
    """Report whether the Pod is being deleted and not finished."""
    return not is_finished(pod) and _deleted_at(pod) is not None


def _deleted_at(pod: Pod) -> datetime | None:
    return pod.metadata.deletionTimestamp if pod.metadata else None


def ready_condition(pod: Pod) -> PodCondition | None:
    """Return the condition ``Ready``."""
    for condition in (pod.status.conditions if pod.status else None) or ():
        if condition.type == "Ready":
            return condition
    return None


def is_ready(pod: Pod) -> bool:
    """Report whether the condition ``Ready`` is true."""
    condition = ready_condition(pod)
    return condition is not None and condition.status == "True"


def ready_since(pod: Pod) -> datetime | None:
    """Return when the Pod became ready; None if it is not ready or the condition has no time."""
    condition = ready_condition(pod)
    return condition.lastTransitionTime if condition is not None and condition.status == "True" else None


def is_available(pod: Pod, min_ready_seconds: int, *, now: datetime) -> bool:
    """Report whether the Pod has been ready for ``min_ready_seconds``."""
    if not is_ready(pod):
        return False
    if not min_ready_seconds:
        return True
    since = ready_since(pod)
    return since is not None and add_seconds(since, min_ready_seconds) <= now


def seconds_to_available(pods: Iterable[Pod], min_ready_seconds: int, *, now: datetime) -> float | None:
    """Return the seconds until the next ready Pod becomes available; None if none is waiting."""
    ready = [since for pod in pods if (since := ready_since(pod)) is not None]
    waits = [(since - now).total_seconds() + min_ready_seconds for since in ready]
    return min((wait for wait in waits if wait > 0), default=None)


def deletion_cost(pod: Pod) -> int:
    """Return the Pod's deletion cost; 0 if the annotation is not a valid 32-bit integer.

    Parsed as by Go's ``ParseInt``, without a leading plus; leading zeros are valid only in negative costs.
    """
    text = ((pod.metadata.annotations if pod.metadata else None) or {}).get(DELETION_COST, "")
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (text[0] == "0" and text != "0"):
        return 0
    cost = int(text)
    return cost if -_COST_MAX <= cost < _COST_MAX else 0


def most_restarts(pod: Pod) -> tuple[int, int]:
    """Return the maximum restart counts of containers and of sidecars (init containers with restart policy ``Always``)."""
    if pod.status is None:
        return 0, 0
    init = (pod.spec.initContainers if pod.spec else None) or ()
    sidecars = {container.name for container in init if container.restartPolicy == "Always"}
    regular = max((status.restartCount for status in pod.status.containerStatuses or ()), default=0)
    sidecar = max(
        (status.restartCount for status in pod.status.initContainerStatuses or () if status.name in sidecars), default=0
    )
    return regular, sidecar


def pod_from_template(template: PodTemplateSpec, *, owner_name: str, namespace: str, controller: Owner | None) -> Pod:
    """Return a Pod to create; its name is generated from ``owner_name``. Nested values are shared, not copied."""
    prefix = f"{owner_name}-"
    if check_dns1123_subdomain(prefix[:-2] + "a" if len(prefix) > 1 else prefix):
        prefix = owner_name  # an invalid prefix without the dash; the server reports the error
    of_template = template.metadata or ObjectMeta()
    metadata = ObjectMeta(
        generateName=prefix,
        namespace=namespace,
        labels=of_template.labels,
        annotations=of_template.annotations,
        finalizers=of_template.finalizers,
        ownerReferences=[_typed(controller)] if controller else None,
    )
    return Pod(apiVersion="v1", kind="Pod", metadata=metadata, spec=template.spec)


def _typed(owner: Owner) -> Any:
    return OwnerReference(**owner.tree())
