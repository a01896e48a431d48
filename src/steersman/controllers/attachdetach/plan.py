"""VolumeAttachments that a Node needs. Pure rules of ``pkg/controller/volume/attachdetach`` and its CSI plugin."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from lightkube.models.meta_v1 import ObjectMeta
from lightkube.models.storage_v1 import VolumeAttachment, VolumeAttachmentSource, VolumeAttachmentSpec

from steersman.client.objects import annotations_of, metadata_field, name_of
from steersman.runtime.conditions import is_condition_true
from steersman.workloads.pods import is_finished

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from lightkube.models.core_v1 import Node, PersistentVolume, Pod

    from steersman.apimachinery.trees import Tree


_MANAGED: Final = "volumes.kubernetes.io/controller-managed-attach-detach"
_KEEP: Final = "volumes.kubernetes.io/keep-terminated-pod-volumes"
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_SHARED: Final = {"ReadWriteMany", "ReadOnlyMany"}
#: Seconds for which an unready Node keeps an unneeded volume. Upstream: maxWaitForUnmountDuration.
FORCE_SECONDS: Final = 360.0


def is_managed(node: Node) -> bool:
    """Report whether attaching is delegated from the Node's kubelet to this controller."""
    return annotations_of(node).get(_MANAGED) == "true"


def in_use_of(node: Node) -> frozenset[str]:
    """Return ``status.volumesInUse`` of a Node."""
    return frozenset((node.status.volumesInUse if node.status else None) or ())


def needs_volumes(pod: Pod, node: Node | None) -> bool:
    """Report whether a pod needs its volumes attached; a terminated one only if its Node keeps them."""
    return not is_finished(pod) or (node is not None and annotations_of(node).get(_KEEP) == "true")


def attachment_name(handle: str, driver: str, node: str) -> str:
    """Return the name of a VolumeAttachment, computed as in CSI components."""
    return "csi-" + sha256(f"{handle}{driver}{node}".encode()).hexdigest()


def volume_name(volume: PersistentVolume) -> str:
    """Return the unique volume name in a Node's status; empty for volumes that are not CSI."""
    csi = volume.spec.csi if volume.spec else None
    return f"kubernetes.io/csi/{csi.driver}^{csi.volumeHandle}" if csi is not None else ""


def is_shared(volume: PersistentVolume) -> bool:
    """Report whether the volume may be attached to several Nodes."""
    return bool(_SHARED & set((volume.spec.accessModes if volume.spec else None) or ()))


def new_attachment(volume: PersistentVolume, node: str) -> VolumeAttachment:
    """Return a VolumeAttachment to create."""
    csi = volume.spec.csi if volume.spec else None
    if csi is None:
        raise ValueError(f"{name_of(volume)} is no driver's")
    return VolumeAttachment(
        apiVersion="storage.k8s.io/v1",
        kind="VolumeAttachment",
        metadata=ObjectMeta(name=attachment_name(csi.volumeHandle, csi.driver, node)),
        spec=VolumeAttachmentSpec(
            attacher=csi.driver, nodeName=node, source=VolumeAttachmentSource(persistentVolumeName=name_of(volume))
        ),
    )


def is_attached(attachment: VolumeAttachment) -> bool:
    """Report whether the attacher has set ``status.attached``."""
    return attachment.status is not None and bool(attachment.status.attached)


def volume_of(attachment: VolumeAttachment) -> str:
    """Return the name of the attachment's PersistentVolume; empty for an inline volume."""
    return attachment.spec.source.persistentVolumeName or "" if attachment.spec.source else ""


@dataclass(slots=True)
class NodePlan:
    """Writes for one Node."""

    attach: list[VolumeAttachment] = field(default_factory=list)
    detach: list[VolumeAttachment] = field(default_factory=list)
    #: Names of exclusive volumes that are attached to another Node.
    elsewhere: list[str] = field(default_factory=list)
    #: Attachments that are detached once their Node has released the volume.
    held: list[VolumeAttachment] = field(default_factory=list)
    #: ``status.volumesAttached``, in order.
    attached: list[str] = field(default_factory=list)


def plan_node(
    node: Node,
    desired_volumes: Mapping[str, PersistentVolume],
    attachments: Sequence[VolumeAttachment],
    *,
    others: Mapping[str, Iterable[str]],
    volumes: Mapping[str, PersistentVolume],
    waited: Mapping[str, float],
    force_seconds: float = FORCE_SECONDS,
) -> NodePlan:
    """Return the writes for a Node. ``desired_volumes``: volumes that its pods need, by name; ``others``: other Nodes by volume.

    ``waited``: seconds since an attachment became unneeded, by name. A volume in use is detached only if the Node is
    out of service, or has been unready for ``force_seconds``.
    """
    plan = NodePlan()
    attached = {
        volume_of(attachment): attachment
        for attachment in attachments
        if metadata_field(attachment, "deletionTimestamp") is None
    }
    for name, volume in desired_volumes.items():
        if name in attached:
            continue
        if not is_shared(volume) and list(others.get(name, ())):
            plan.elsewhere.append(name)
        else:
            plan.attach.append(new_attachment(volume, name_of(node)))
    in_use = in_use_of(node)
    for name, attachment in attached.items():
        stored = volumes.get(name)
        unique = volume_name(stored) if stored is not None else ""
        is_held = unique in in_use and not _may_force(node, waited.get(name_of(attachment), 0.0), force_seconds)
        if name not in desired_volumes:
            (plan.held if is_held else plan.detach).append(attachment)
        if unique and is_attached(attachment) and (name in desired_volumes or is_held):
            plan.attached.append(unique)
    plan.attached.sort()
    return plan


def plan_gone(
    attachments: Iterable[VolumeAttachment],
    *,
    in_use: Collection[str] | None,
    volumes: Mapping[str, PersistentVolume],
    waited: Mapping[str, float],
    force_seconds: float = FORCE_SECONDS,
) -> NodePlan:
    """Return the writes for a deleted Node. ``in_use``: its last ``volumesInUse``; None if unknown.

    Volumes that may be in use are detached as from an unready Node.
    """
    plan = NodePlan()
    for attachment in attachments:
        if metadata_field(attachment, "deletionTimestamp") is not None:
            continue
        volume = volumes.get(volume_of(attachment))
        is_used = in_use is None or (volume is not None and volume_name(volume) in in_use)
        is_held = is_used and waited.get(name_of(attachment), 0.0) < force_seconds
        (plan.held if is_held else plan.detach).append(attachment)
    return plan


def _may_force(node: Node, waited_seconds: float, force_seconds: float) -> bool:
    taints = (node.spec.taints if node.spec else None) or ()
    if any(taint.key == _OUT_OF_SERVICE for taint in taints):
        return True
    ready = is_condition_true(node.status.conditions if node.status else None, "Ready")
    return not ready and waited_seconds >= force_seconds


def attached_patch(node: Node, attached: Sequence[str]) -> Tree | None:
    """Return the merge patch of ``status.volumesAttached`` for this version of the Node; None if it is up to date."""
    listed = (node.status.volumesAttached if node.status else None) or ()
    rows = [{"name": attached_volume.name, "devicePath": attached_volume.devicePath} for attached_volume in listed]
    kept_rows = [row for row in rows if not row["name"].startswith("kubernetes.io/csi/") or row["name"] in attached]
    names = {row["name"] for row in kept_rows}
    merged = kept_rows + [{"name": name, "devicePath": ""} for name in attached if name not in names]
    if merged == rows:
        return None
    return {
        "metadata": {"resourceVersion": metadata_field(node, "resourceVersion")},
        "status": {"volumesAttached": merged or None},
    }
