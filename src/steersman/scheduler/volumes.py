"""Volumes, claims and storage classes for the volume plugins, maintained by the event handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.scheduler.matching import any_term, label_selector
from steersman.workloads.resources import parse_resource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.objects import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


class VolumeCatalog:
    """Storage objects; ``reserved`` maps volumes to the claims of assumed pods that they were chosen for."""

    def __init__(self) -> None:
        self.claims: Final[dict[str, PersistentVolumeClaim]] = {}
        self.volumes: Final[dict[str, PersistentVolume]] = {}
        self.classes: Final[dict[str, StorageClass]] = {}
        self.csi_nodes: Final[dict[str, CSINode]] = {}
        #: VolumeAttachments, whether a pod uses the volume or not.
        self.attachments: Final[dict[str, Any]] = {}
        self.csi_drivers: Final[dict[str, Any]] = {}
        #: CSIStorageCapacities (KEP-1472).
        self.capacities: Final[dict[str, Any]] = {}
        self.reserved: Final[dict[str, str]] = {}

    def waits_for_consumer(self, claim: PersistentVolumeClaim) -> bool:
        """Report whether the claim's class has binding mode WaitForFirstConsumer."""
        storage_class = self.classes.get(class_of(claim))
        return storage_class is not None and storage_class.volumeBindingMode == "WaitForFirstConsumer"

    def has_capacity(self, claim: PersistentVolumeClaim, node: NodeInfo) -> bool:
        """Report whether the driver, if it publishes capacity, has enough for the claim in a segment of the node."""
        storage_class = self.classes[class_of(claim)]
        driver = self.csi_drivers.get(storage_class.provisioner)
        if driver is None or not driver.spec.storageCapacity:
            return True
        size = requested_size(claim)
        return any(
            capacity.storageClassName == storage_class.metadata.name
            and _maximum_size(capacity) >= size
            and _covers(capacity, node)
            for capacity in self.capacities.values()
        )

    def matching_volume(
        self, claim: PersistentVolumeClaim, node: NodeInfo, excluded: Iterable[str]
    ) -> PersistentVolume | None:
        """Return the volume pre-bound to the claim, else the smallest one that matches it and is reachable from the node.

        A pre-bound volume that the node does not reach excludes all others. Upstream: ``FindMatchingVolume``.
        """
        key = f"{claim.metadata.namespace}/{claim.metadata.name}"
        required, used = _requirements(claim), set(excluded)
        smallest: PersistentVolume | None = None
        for name, volume in self.volumes.items():
            if name in used or self.reserved.get(name, key) != key or not _fits_claim(volume, claim, required):
                continue
            if volume.spec.claimRef is not None:
                return volume if is_reachable(volume, node) else None
            if not _is_available(volume, claim, required) or (
                smallest is not None and _size(smallest) <= _size(volume)
            ):
                continue
            if is_reachable(volume, node):
                smallest = volume
        return smallest


def _maximum_size(capacity: Any) -> int:
    """Return the maximum volume size in bytes; -1 if unknown."""
    text = capacity.maximumVolumeSize or capacity.capacity
    return parse_resource("storage", str(text)) if text is not None else -1


def _covers(capacity: Any, node: NodeInfo) -> bool:
    topology = capacity.nodeTopology
    return topology is not None and label_selector(topology).matches(node.labels)


class Binding(NamedTuple):
    """Volume operations to perform before a pod can start on a node. Upstream: ``PodVolumes``."""

    #: Claims with the existing volumes chosen for them.
    static: tuple[tuple[PersistentVolumeClaim, PersistentVolume], ...] = ()
    #: Claims to be provisioned dynamically.
    provision: tuple[PersistentVolumeClaim, ...] = ()


class _ClaimRequirements(NamedTuple):
    class_name: str
    size: int
    modes: frozenset[str]
    volume_mode: str


def _requirements(claim: PersistentVolumeClaim) -> _ClaimRequirements:
    spec = claim.spec
    return _ClaimRequirements(
        class_of(claim),
        requested_size(claim),
        frozenset(spec.accessModes or ()),
        spec.volumeMode or "Filesystem",
    )


def _size(volume: PersistentVolume) -> int:
    return parse_resource("storage", str((volume.spec.capacity or {}).get("storage", "0")))


def _fits_claim(volume: PersistentVolume, claim: PersistentVolumeClaim, required: _ClaimRequirements) -> bool:
    """Report whether the volume is unbound or pre-bound to the claim, and has what even a pre-bound one must have."""
    spec = volume.spec
    owner = spec.claimRef
    if owner is not None and (
        (owner.namespace, owner.name) != (claim.metadata.namespace, claim.metadata.name)
        or (owner.uid and owner.uid != claim.metadata.uid)
    ):
        return False
    return (
        volume.metadata.deletionTimestamp is None
        and class_of(volume) == required.class_name
        and (spec.volumeMode or "Filesystem") == required.volume_mode
        and (spec.volumeAttributesClassName or "") == (claim.spec.volumeAttributesClassName or "")
        and _size(volume) >= required.size
    )


def _is_available(volume: PersistentVolume, claim: PersistentVolumeClaim, required: _ClaimRequirements) -> bool:
    """Report whether a volume that is not pre-bound may be bound to the claim."""
    selector = claim.spec.selector
    return (
        (volume.status.phase if volume.status is not None else "") == "Available"
        and required.modes <= set(volume.spec.accessModes or ())
        and (selector is None or label_selector(selector).matches(volume.metadata.labels))
    )


def requested_size(claim: PersistentVolumeClaim) -> int:
    """Return the requested storage of a claim in bytes."""
    requests = (claim.spec.resources.requests if claim.spec.resources is not None else None) or {}
    return parse_resource("storage", str(requests.get("storage", "0")))


def class_of(obj: Any) -> str:
    """Return the storage class name of a claim or a volume."""
    annotations = obj.metadata.annotations or {}
    return str(annotations.get(_BETA_CLASS) or obj.spec.storageClassName or "")


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Report whether the binding of the claim is complete on both sides."""
    return bool(claim.spec.volumeName) and BIND_COMPLETED in (claim.metadata.annotations or {})


def is_reachable(volume: PersistentVolume, node: NodeInfo) -> bool:
    """Report whether the volume's node affinity matches the node."""
    affinity = volume.spec.nodeAffinity
    required = affinity.required if affinity is not None else None
    return required is None or any_term(required.nodeSelectorTerms)(node)


def can_provision(storage_class: StorageClass, node: NodeInfo) -> bool:
    """Report whether the class can provision a volume for the node (``allowedTopologies``)."""
    if storage_class.provisioner == NO_PROVISIONER:
        return False
    topologies = storage_class.allowedTopologies
    if not topologies:
        return True
    return any(
        all(
            node.labels.get(match_label_expression.key) in match_label_expression.values
            for match_label_expression in term.matchLabelExpressions or ()
        )
        for term in topologies
    )
