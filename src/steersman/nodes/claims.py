"""PersistentVolumeClaims of a pod's volumes, which must be bound before the pod starts.

Upstream: ``getPVCExtractPV`` and ``createVolumeSpec`` of pkg/kubelet/volumemanager/populator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from steersman.client.objects import name_of, namespace_of, uid_of
from steersman.nodes.references import mounted_volumes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from steersman.apimachinery.trees import Tree


class ClaimVolume(NamedTuple):
    """A volume and the name of its claim."""

    volume: str
    claim: str
    #: True if the claim must be owned by the pod.
    is_ephemeral: bool = False


def claim_volumes(pod: Tree) -> Iterator[ClaimVolume]:
    """Yield the volumes with claims that a container mounts."""
    for volume in mounted_volumes(pod):
        name = volume.get("name", "")
        if volume.get("persistentVolumeClaim"):
            yield ClaimVolume(name, volume["persistentVolumeClaim"].get("claimName", ""))
        elif volume.get("ephemeral"):
            yield ClaimVolume(name, f"{name_of(pod)}-{name}", is_ephemeral=True)


def claim_error(claim: Tree | None, volume: ClaimVolume, pod: Tree) -> str:
    """Return the kubelet's error for a claim that cannot be mounted; empty if it is bound."""
    error = ""
    if claim is None:
        error = f'failed to fetch PVC from API server: persistentvolumeclaims "{volume.claim}" not found'
    elif claim["metadata"].get("deletionTimestamp"):
        error = "PVC is being deleted"
    elif (claim.get("status") or {}).get("phase") != "Bound":
        error = "PVC is not bound"
    elif not claim["spec"].get("volumeName"):
        error = "PVC has empty pvc.Spec.VolumeName"
    if error:
        return f"error processing PVC {namespace_of(pod)}/{volume.claim}: {error}"
    if claim is None or not volume.is_ephemeral or _is_owned(claim, uid_of(pod)):
        return ""
    claim_text, pod_text = (f"{namespace_of(obj)}/{name_of(obj)} ({uid_of(obj)})" for obj in (claim, pod))
    return f"PVC {claim_text} was not created for pod {pod_text} (pod is not owner)"


def _is_owned(claim: Tree, uid: str) -> bool:
    references = claim["metadata"].get("ownerReferences") or ()
    return any(reference.get("controller") and reference.get("uid") == uid for reference in references)


def mount_failure(errors: Mapping[str, str]) -> str:
    """Return the message of the event about volumes that cannot be mounted; ``errors`` by volume."""
    volumes = f"[{' '.join(errors)}]"
    detail = f"unmounted volumes={volumes}, unattached volumes=[], failed to process volumes={volumes}"
    return f"Unable to attach or mount volumes: {detail}: {'; '.join(errors.values())}"
