"""Volumes, claims and classes as the rules about them need them, kept by the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.scheduler.amounts import amount
from steersman.scheduler.matching import any_term, label_selector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.objects import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


class Catalog:
    """What is there. ``reserved``: volumes promised to claims of pods that are on their way, by volume's name."""

    def __init__(self) -> None:
        self.claims: Final[dict[str, PersistentVolumeClaim]] = {}
        self.volumes: Final[dict[str, PersistentVolume]] = {}
        self.classes: Final[dict[str, StorageClass]] = {}
        self.csi_nodes: Final[dict[str, CSINode]] = {}
        #: What is attached where, whether a pod still uses it or not.
        self.attachments: Final[dict[str, Any]] = {}
        self.csi_drivers: Final[dict[str, Any]] = {}
        #: What drivers say they could still provide where (KEP-1472).
        self.capacities: Final[dict[str, Any]] = {}
        self.reserved: Final[dict[str, str]] = {}

    def waits_for_consumer(self, claim: PersistentVolumeClaim) -> bool:
        """Whether the claim is bound only when a pod has a node."""
        found = self.classes.get(class_of(claim))
        return found is not None and found.volumeBindingMode == "WaitForFirstConsumer"

    def has_capacity(self, claim: PersistentVolumeClaim, node: NodeInfo) -> bool:
        """Whether the claim's driver, if it keeps account, has enough left for a volume that the node reaches."""
        found = self.classes[class_of(claim)]
        driver = self.csi_drivers.get(found.provisioner)
        if driver is None or not driver.spec.storageCapacity:
            return True
        size = _wish(claim).size
        return any(
            each.storageClassName == found.metadata.name and _most(each) >= size and _is_near(each, node)
            for each in self.capacities.values()
        )

    def candidates(self, claim: PersistentVolumeClaim, taken: Iterable[str]) -> list[PersistentVolume]:
        """Volumes that the claim could be bound to, wherever they are, the smallest first."""
        key = f"{claim.metadata.namespace}/{claim.metadata.name}"
        wanted = _wish(claim)
        used = set(taken)
        fitting = [
            volume
            for name, volume in self.volumes.items()
            if name not in used and self.reserved.get(name, key) == key and _suits(volume, claim, wanted)
        ]
        return sorted(fitting, key=_size)


def _most(capacity: Any) -> int:
    """The largest volume that can be had, in bytes; -1 where nothing is known."""
    text = capacity.maximumVolumeSize or capacity.capacity
    return amount("storage", str(text)) if text is not None else -1


def _is_near(capacity: Any, node: NodeInfo) -> bool:
    topology = capacity.nodeTopology
    return topology is not None and label_selector(topology).matches(node.labels)


class Binding(NamedTuple):
    """What must be done about a pod's claims before it can start on a node."""

    #: Claims with the volumes found for them.
    static: tuple[tuple[PersistentVolumeClaim, PersistentVolume], ...] = ()
    #: Claims that a provisioner is to make volumes for.
    provision: tuple[PersistentVolumeClaim, ...] = ()


class _Wish(NamedTuple):
    class_name: str
    size: int
    modes: frozenset[str]
    volume_mode: str


def _wish(claim: PersistentVolumeClaim) -> _Wish:
    spec = claim.spec
    requests = (spec.resources.requests if spec.resources is not None else None) or {}
    return _Wish(
        class_of(claim),
        amount("storage", str(requests.get("storage", "0"))),
        frozenset(spec.accessModes or ()),
        spec.volumeMode or "Filesystem",
    )


def _size(volume: PersistentVolume) -> int:
    return amount("storage", str((volume.spec.capacity or {}).get("storage", "0")))


def _suits(volume: PersistentVolume, claim: PersistentVolumeClaim, wanted: _Wish) -> bool:
    spec = volume.spec
    owner = spec.claimRef
    if owner is not None:
        # Volumes kept for this claim are its own, whatever they are otherwise.
        if (owner.namespace, owner.name) != (claim.metadata.namespace, claim.metadata.name):
            return False
        if owner.uid and owner.uid != claim.metadata.uid:
            return False
    elif (volume.status.phase if volume.status is not None else "") != "Available":
        return False
    if volume.metadata.deletionTimestamp is not None or class_of(volume) != wanted.class_name:
        return False
    if (spec.volumeMode or "Filesystem") != wanted.volume_mode or not wanted.modes <= set(spec.accessModes or ()):
        return False
    selector = claim.spec.selector
    if owner is None and selector is not None and not label_selector(selector).matches(volume.metadata.labels):
        return False
    return _size(volume) >= wanted.size


def class_of(obj: Any) -> str:
    """Name of the storage class of a claim or a volume."""
    annotations = obj.metadata.annotations or {}
    return str(annotations.get(_BETA_CLASS) or obj.spec.storageClassName or "")


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether a volume has been found for the claim, and both know it."""
    return bool(claim.spec.volumeName) and BIND_COMPLETED in (claim.metadata.annotations or {})


def is_reachable(volume: PersistentVolume, node: NodeInfo) -> bool:
    """Whether the volume's node affinity lets it be used on the node."""
    affinity = volume.spec.nodeAffinity
    required = affinity.required if affinity is not None else None
    return required is None or any_term(required.nodeSelectorTerms)(node)


def may_provision(found: StorageClass, node: NodeInfo) -> bool:
    """Whether the class can make a volume that the node reaches."""
    if found.provisioner == NO_PROVISIONER:
        return False
    topologies = found.allowedTopologies
    if not topologies:
        return True
    return any(
        all(node.labels.get(each.key) in each.values for each in term.matchLabelExpressions or ())
        for term in topologies
    )
