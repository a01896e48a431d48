"""Claims of a pod's ephemeral volumes. Pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightkube.models.core_v1 import PersistentVolumeClaim
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client.objects import annotations_of, key_of, labels_of, name_of, namespace_of, uid_of
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.owners import controller_reference, is_controlled_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightkube.models.core_v1 import Pod


class ForeignClaim(ValueError):  # noqa: N818 — named by the condition
    """The name is in use by a claim that the pod does not own."""


def claim_name(pod: Any, volume: str) -> str:
    """Return the name of the claim, computed as in other components."""
    return f"{name_of(pod)}-{volume}"


def wanted_claims(pod: Pod) -> dict[str, PersistentVolumeClaim]:
    """Return the claims by volume name; none for a pod that is finished or being deleted."""
    if is_being_deleted(pod):
        return {}
    return {
        volume.name: _claim(pod, volume.name, volume.ephemeral.volumeClaimTemplate)
        for volume in (pod.spec.volumes if pod.spec else None) or ()
        if volume.ephemeral is not None and volume.ephemeral.volumeClaimTemplate is not None
    }


def is_missing(
    pod: Pod, claim: PersistentVolumeClaim, present_of: Callable[[str], PersistentVolumeClaim | None]
) -> bool:
    """Report whether the claim must be created. Raises ForeignClaim."""
    present = present_of(name_of(claim))
    if present is None:
        return True
    if not is_controlled_by(present, pod):
        raise ForeignClaim(
            f"PVC {key_of(present)} ({uid_of(present)}) was not created for pod {key_of(pod)} ({uid_of(pod)}) "
            "(pod is not owner)"
        )
    return False


def _claim(pod: Pod, volume: str, template: Any) -> PersistentVolumeClaim:
    metadata = ObjectMeta(
        name=claim_name(pod, volume),
        namespace=namespace_of(pod),
        labels=labels_of(template) or None,
        annotations=annotations_of(template) or None,
        ownerReferences=[controller_reference(pod, api_version="v1", kind="Pod").typed()],
    )
    return PersistentVolumeClaim(metadata=metadata, spec=template.spec)
