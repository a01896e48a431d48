"""Uses of protected objects, and the resulting finalizer changes. Pure rules."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from steersman.client.objects import name_of, namespace_of
from steersman.runtime.finalizers import has_finalizer, is_being_deleted
from steersman.runtime.owners import is_controlled_by
from steersman.workloads.pod_volumes import claim_of
from steersman.workloads.pods import is_finished, node_of

if TYPE_CHECKING:
    from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod

CLAIM_FINALIZER: Final = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER: Final = "kubernetes.io/pv-protection"
CLASS_FINALIZER: Final = "kubernetes.io/vac-protection"
GROUP_FINALIZER: Final = "scheduling.k8s.io/podgroup-protection"


class Step(Enum):
    """Change of an object's finalizer."""

    NOTHING = auto()
    #: The object is not being deleted and lacks the finalizer.
    ADD = auto()
    #: The object is being deleted with the finalizer, which is removed if the object is not in use.
    RELEASE = auto()


def step(obj: Any, finalizer: str) -> Step:
    """Return the change that the object alone determines."""
    if is_being_deleted(obj):
        return Step.RELEASE if has_finalizer(obj, finalizer) else Step.NOTHING
    return Step.NOTHING if has_finalizer(obj, finalizer) else Step.ADD


def uses_claim(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Report whether a pod uses the claim; only a scheduled one does, as no kubelet mounts a claim being deleted.

    A finished pod still does, except for its ephemeral volumes.
    """
    if not node_of(pod) or namespace_of(pod) != namespace_of(claim):
        return False
    for volume in (pod.spec.volumes if pod.spec else None) or ():
        if claim_of(pod, volume) != name_of(claim):
            continue
        if volume.ephemeral is None or (not is_finished(pod) and is_controlled_by(claim, pod)):
            return True
    return False


def is_volume_used(volume: PersistentVolume) -> bool:
    """Report whether a claim is bound to the volume."""
    return volume.status is not None and volume.status.phase == "Bound"


def groups_used(pod: Pod) -> list[str]:
    """Return the key of the pod's group; none once it has finished."""
    group = pod.spec.schedulingGroup if pod.spec else None
    if group is None or not group.podGroupName or is_finished(pod):
        return []
    return [f"{namespace_of(pod)}/{group.podGroupName}"]


def classes_named(obj: PersistentVolume | PersistentVolumeClaim) -> list[str]:
    """Return the VolumeAttributesClasses that a claim or volume has or requests."""
    status: Any = obj.status
    target = getattr(getattr(status, "modifyVolumeStatus", None), "targetVolumeAttributesClassName", None)
    class_names = (
        obj.spec.volumeAttributesClassName if obj.spec else None,
        getattr(status, "currentVolumeAttributesClassName", None),
        target,
    )
    return [name for name in dict.fromkeys(class_names) if name]
