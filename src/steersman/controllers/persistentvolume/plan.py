"""Actions for a claim or a volume: closed sets of decisions, executed by the controller. Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from steersman.client.objects import annotations_of, name_of, uid_of
from steersman.controllers.persistentvolume.binding import BIND_COMPLETED, BOUND_BY_CONTROLLER
from steersman.controllers.persistentvolume.matching import (
    best_volume,
    class_of_claim,
    default_class,
    has_class,
    has_selected_node,
    is_delayed,
    is_reserved_for,
    mismatch_reason,
    modes_differ,
)
from steersman.controllers.persistentvolume.migration import CSI_DRIVERS, IN_TREE, MIGRATED_TO, PROVISIONED_BY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim
    from lightkube.models.storage_v1 import StorageClass

#: In-tree plugins of this controller that no CSI driver replaced.
_HOST_PATH: Final = "kubernetes.io/host-path"
_NFS: Final = "kubernetes.io/nfs"


@dataclass(frozen=True, slots=True)
class Event:
    """Event."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind the claim to this volume."""

    volume: PersistentVolume


@dataclass(frozen=True, slots=True)
class Wait:
    """No volume matches. ``pending``: set the phase too."""

    event: Event | None = None
    pending: bool = True


@dataclass(frozen=True, slots=True)
class AssignClass:
    """Set the default storage class on a claim without one."""

    name: str


@dataclass(frozen=True, slots=True)
class Provision:
    """Annotate the claim for an external provisioner."""

    provisioner: str
    event: Event


@dataclass(frozen=True, slots=True)
class Lost:
    """Set phase ``Lost``: the claim's volume does not exist."""

    event: Event


@dataclass(frozen=True, slots=True)
class InconsistentBinding:
    """The claim's binding annotations are inconsistent."""

    event: Event
    message: str


ClaimPlan = Bind | Wait | AssignClass | Provision | Lost | InconsistentBinding


@dataclass(frozen=True, slots=True)
class SetPhase:
    """Set the volume's phase; ``reclaim``: then reclaim it."""

    phase: str | None
    reclaim: bool = False


@dataclass(frozen=True, slots=True)
class EnqueueClaim:
    """Enqueue the claim, to be bound to the volume."""


@dataclass(frozen=True, slots=True)
class Unbind:
    """The claim is bound to another volume; make this one available."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The claim of ``claimRef`` cannot use the volume."""

    volume_event: Event
    claim_event: Event


VolumePlan = SetPhase | EnqueueClaim | Unbind | Mismatch

Reclaim = Literal["retain", "leave", "recycle", "delete", "fail"]


def plan_claim(
    claim: PersistentVolumeClaim,
    volumes: Mapping[str, PersistentVolume],
    classes: Mapping[str, StorageClass],
    *,
    waiting_pods: Sequence[str] = (),
) -> ClaimPlan:
    """Return the action for a claim. ``waiting_pods``: names of unscheduled pods that use it."""
    name = (claim.spec.volumeName if claim.spec else None) or ""
    volume = volumes.get(name)
    if BIND_COMPLETED in annotations_of(claim):
        return _plan_bound(claim, name, volume)
    if name:
        return _plan_named(claim, volume)
    delayed = is_delayed(classes.get(class_of_claim(claim)))
    best = best_volume(claim, volumes.values(), delayed=delayed)
    if best is not None:
        return Bind(best)
    if not has_class(claim):
        default = default_class(classes.values())
        if default is not None:
            return AssignClass(name_of(default))
    if delayed and not has_selected_node(claim):
        return Wait(_first_consumer(waiting_pods))
    class_name = class_of_claim(claim)
    if class_name:
        return _provision(class_name, classes.get(class_name))
    text = "no persistent volumes available for this claim and no storage class is set"
    return Wait(Event("Normal", "FailedBinding", text))


def _plan_bound(claim: PersistentVolumeClaim, name: str, volume: PersistentVolume | None) -> ClaimPlan:
    if not name:
        text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        return Lost(Event("Warning", "ClaimLost", text))
    if volume is None:
        text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        return Lost(Event("Warning", "ClaimLost", text))
    reference = volume.spec.claimRef if volume.spec else None
    if reference is None or reference.uid == uid_of(claim):
        return Bind(volume)
    text = "Two claims are bound to the same volume, this one is bound incorrectly"
    return Lost(Event("Warning", "ClaimMisbound", text))


def _plan_named(claim: PersistentVolumeClaim, volume: PersistentVolume | None) -> ClaimPlan:
    """Return the action for a claim with ``volumeName``."""
    if volume is None or volume.spec is None:
        return Wait()
    if volume.spec.claimRef is None:
        mismatch = mismatch_reason(volume, claim)
        if not mismatch:
            return Bind(volume)
        return Wait(
            Event("Warning", "VolumeMismatch", f'Cannot bind to requested volume "{name_of(volume)}": {mismatch}')
        )
    if is_reserved_for(volume, claim):
        return Bind(volume)
    message = f'volume "{name_of(volume)}" already bound to a different claim'
    if BOUND_BY_CONTROLLER not in annotations_of(claim):
        return Wait(Event("Warning", "FailedBinding", f"{message}."))
    by = f"{volume.spec.claimRef.namespace}/{volume.spec.claimRef.name}"
    return InconsistentBinding(
        Event("Warning", "FailedBinding", f'{message} "{by}" by controller'),
        f'invalid binding to volume "{name_of(volume)}": volume already claimed by "{by}"',
    )


def _first_consumer(waiting_pods: Sequence[str]) -> Event:
    if not waiting_pods:
        text = "waiting for first consumer to be created before binding"
        return Event("Normal", "WaitForFirstConsumer", text)
    word = "pod" if len(waiting_pods) == 1 else "pods"
    return Event("Normal", "WaitForPodScheduled", f"waiting for {word} {','.join(waiting_pods)} to be scheduled")


def _provision(name: str, storage_class: StorageClass | None) -> ClaimPlan:
    if storage_class is None:
        text = f'storageclass.storage.k8s.io "{name}" not found'
        return Wait(Event("Warning", "ProvisioningFailed", text), pending=False)
    provisioner = CSI_DRIVERS.get(storage_class.provisioner, storage_class.provisioner)
    if provisioner == _HOST_PATH:
        text = f'Failed to create provisioner: provisioning in volume plugin "{_HOST_PATH}" is disabled'
        return Provision(provisioner, Event("Warning", "ProvisioningFailed", text))
    if provisioner.startswith(IN_TREE):
        text = "no provisionable volume plugin matched" if provisioner == _NFS else _no_plugin(provisioner)
        return Wait(Event("Warning", "ProvisioningFailed", text), pending=False)
    text = (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
        "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
        "correctly registered."
    )
    return Provision(provisioner, Event("Normal", "ExternalProvisioning", text))


def _no_plugin(name: str) -> str:
    return f"no volume plugin matched name: {name}"


def plan_volume(volume: PersistentVolume, claim: PersistentVolumeClaim | None) -> VolumePlan:
    """Return the action for a volume. ``claim``: the claim of ``claimRef`` if it exists with that UID."""
    reference = volume.spec.claimRef if volume.spec else None
    if reference is None or not reference.uid:
        return SetPhase("Available")
    if claim is None:
        return SetPhase(_released(volume), reclaim=True)
    claimed_name = (claim.spec.volumeName if claim.spec else None) or ""
    if not claimed_name:
        return _mismatch(volume, claim) if modes_differ(volume, claim) else EnqueueClaim()
    if claimed_name == name_of(volume):
        return SetPhase("Bound")
    provisioned = PROVISIONED_BY in annotations_of(volume)
    if provisioned and volume.spec is not None and volume.spec.persistentVolumeReclaimPolicy == "Delete":
        return SetPhase(_released(volume), reclaim=True)
    return Unbind()


def _released(volume: PersistentVolume) -> str | None:
    """Return the phase of a released volume; a failure stays visible."""
    phase = volume.status.phase if volume.status else None
    return None if phase in ("Released", "Failed") else "Released"


def _mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Mismatch:
    of_volume = f'requested PersistentVolumeClaim "{name_of(claim)}" due to incompatible volumeMode.'
    of_claim = (
        f'PersistentVolume "{name_of(volume)}" to requested PersistentVolumeClaim due to incompatible volumeMode.'
    )
    return Mismatch(
        Event("Warning", "VolumeMismatch", f"Cannot bind PersistentVolume to {of_volume}"),
        Event("Warning", "VolumeMismatch", f"Cannot bind {of_claim}"),
    )


def reclaim(volume: PersistentVolume) -> tuple[Reclaim, Event | None]:
    """Return the action that reclaims a released volume, or the event if impossible; ``leave`` if an external controller does
    it. Host path volumes are deleted below ``/tmp`` only, as upstream.
    """
    spec = volume.spec
    policy = spec.persistentVolumeReclaimPolicy if spec is not None else None
    if MIGRATED_TO in annotations_of(volume):
        return "leave", None
    if spec is None or policy in (None, "Retain"):
        return "retain", None
    if policy == "Recycle":
        if spec.hostPath is None and spec.nfs is None:
            return "fail", Event("Warning", "VolumeFailedRecycle", "No recycler plugin found for the volume!")
        return "recycle", None
    if policy != "Delete":
        text = "Volume has unrecognized PersistentVolumeReclaimPolicy"
        return "fail", Event("Warning", "VolumeUnknownReclaimPolicy", text)
    return _delete(volume)


def plan_use(pod_keys: Sequence[str]) -> Event | None:
    """Return the event of a volume that cannot be recycled because pods use it; None if none does."""
    if not pod_keys:
        return None
    return Event("Normal", "VolumeFailedRecycle", f"Volume is used by pods: {','.join(sorted(pod_keys))}")


def _delete(volume: PersistentVolume) -> tuple[Reclaim, Event | None]:
    provisioner = annotations_of(volume).get(PROVISIONED_BY)
    if provisioner and not provisioner.startswith(IN_TREE):
        return "leave", None
    host_path = volume.spec.hostPath if volume.spec else None
    if provisioner == _HOST_PATH and host_path is None:
        message = (
            f'failed to create deleter for volume "{name_of(volume)}": spec.PersistentVolumeSource.HostPath is nil'
        )
        return "fail", Event("Warning", "VolumeFailedDelete", message)
    if provisioner and provisioner != _HOST_PATH:
        message = "no deletable volume plugin matched" if provisioner == _NFS else _no_plugin(provisioner)
        return "fail", Event("Warning", "VolumeFailedDelete", message)
    if host_path is None:
        # Upstream has three plugins here, of which NFS only recycles (``ProbeProvisionableRecyclableVolumePlugins``).
        missing = "no deletable volume plugin" if volume.spec and volume.spec.nfs else "no volume plugin"
        message = f'error getting deleter volume plugin for volume "{name_of(volume)}": {missing} matched'
        return "fail", Event("Warning", "VolumeFailedDelete", message)
    if not (host_path.path.startswith("/tmp/") and len(host_path.path) > len("/tmp/")):  # noqa: S108 — of a host
        message = f"host_path deleter only supports /tmp/.+ but received provided {host_path.path}"
        return "fail", Event("Warning", "VolumeFailedDelete", message)
    return "delete", None


def waiting_claims(claims: Iterable[PersistentVolumeClaim]) -> list[PersistentVolumeClaim]:
    """Return the unbound claims, which a new volume or class may affect."""
    return [claim for claim in claims if BIND_COMPLETED not in annotations_of(claim)]
