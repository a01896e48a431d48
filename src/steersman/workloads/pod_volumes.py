"""PersistentVolumeClaims of a pod's volumes. Typed structs only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.client.objects import metadata_field, name_of, namespace_of
from steersman.workloads.pods import is_finished

if TYPE_CHECKING:
    from lightkube.models.core_v1 import Pod, Volume


def claim_of(pod: Pod, volume: Volume) -> str:
    """Return the claim that a volume names, or its generated claim (``<pod>-<volume>``); empty for other volumes."""
    if volume.persistentVolumeClaim is not None:
        return str(volume.persistentVolumeClaim.claimName)
    return f"{name_of(pod)}-{volume.name}" if volume.ephemeral is not None else ""


def claims_of(pod: Pod) -> list[str]:
    """Return the names of all claims of the pod."""
    volumes = (pod.spec.volumes if pod.spec else None) or ()
    return [name for volume in volumes if (name := claim_of(pod, volume))]


def claim_keys_of(pod: Pod) -> list[str]:
    """Return the keys of all claims of the pod, for an index."""
    return [f"{namespace_of(pod)}/{name}" for name in claims_of(pod)]


def releases_volumes(pod: Pod) -> bool:
    """Report whether the pod has finished, or is being deleted and no container runs.

    Upstream: ``pkg/volume/util/util.go`` (``IsPodTerminated``).
    """
    if is_finished(pod):
        return True
    if metadata_field(pod, "deletionTimestamp") is None:
        return False
    status = pod.status
    if status is None:
        return True
    for statuses in (status.initContainerStatuses, status.containerStatuses, status.ephemeralContainerStatuses):
        for container in statuses or ():
            state = container.state
            if state is None or (state.terminated is None and state.waiting is None):
                return False
    return True
