"""Claims that wait for expansion. CSI drivers expand volumes; there is no in-tree plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.quantity import Quantity, parse
from steersman.client.objects import uid_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim

REASON: Final = "ExternalExpanding"
MESSAGE: Final = (
    "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an external controller to "
    "process this PVC."
)


def event_type(volume: PersistentVolume) -> str:
    """Return the event type: Normal if an external controller expands the volume, else Warning."""
    return "Normal" if volume.spec is not None and volume.spec.csi is not None else "Warning"


def volume_to_expand(claim: PersistentVolumeClaim) -> str:
    """Return the name of a volume smaller than the request of its claim; empty if absent."""
    if claim.spec is None or claim.status is None or claim.status.phase != "Bound":
        return ""
    requested = _size(claim.spec.resources.requests if claim.spec.resources else None)
    return (claim.spec.volumeName or "") if requested > _size(claim.status.capacity) else ""


def is_bound_to(volume: PersistentVolume | None, claim: PersistentVolumeClaim) -> bool:
    """Report whether the volume names the claim."""
    reference = volume.spec.claimRef if volume is not None and volume.spec else None
    return reference is not None and reference.uid == uid_of(claim)


def asks_for_more(old: PersistentVolumeClaim, new: PersistentVolumeClaim) -> bool:
    """Report whether the claim grew, or was bound, since."""
    return bool(volume_to_expand(new)) and (not volume_to_expand(old) or old.spec != new.spec)


def _size(amounts: Mapping[str, str] | None) -> Quantity:
    return parse(str((amounts or {}).get("storage", "0")))
