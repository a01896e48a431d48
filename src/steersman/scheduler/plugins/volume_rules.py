"""VolumeRestrictions, VolumeZone and NodeVolumeLimits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.scheduler.framework import Plugin, PodFilter, Rejection
from steersman.scheduler.volumes import class_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot
    from steersman.scheduler.volumes import VolumeCatalog

_ZONE_LABELS: Final = {
    "topology.kubernetes.io/zone": "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region": "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}


class VolumeRestrictions(Plugin):
    """Rejects conflicting uses of a disk, and ReadWriteOncePod claims in use by another pod."""

    name: ClassVar[str] = "VolumeRestrictions"
    _DISK: Final = Rejection(name, ("node(s) had no available disk",))
    _CLAIM: Final = Rejection(
        name,
        (
            (
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
                "already in-use by another pod"
            ),
        ),
    )

    def __init__(self, catalog: VolumeCatalog) -> None:
        self._catalog = catalog

    def pre_filter(self, pod: PodInfo, cluster: Snapshot) -> PodFilter | None:
        disks = list(_disks(pod))
        exclusive = {
            f"{pod.namespace}/{name}"
            for name in pod.claims
            if "ReadWriteOncePod" in self._modes(f"{pod.namespace}/{name}")
        }
        if not disks and not exclusive:
            return None
        in_use = sum(node.claims.get(claim, 0) for node in cluster.infos.values() for claim in exclusive)
        return _ExclusiveFilter(disks, exclusive, in_use)

    def _modes(self, key: str) -> list[str]:
        claim = self._catalog.claims.get(key)
        return (claim.spec.accessModes or []) if claim is not None else []


class _ExclusiveFilter(PodFilter):
    def __init__(self, disks: list[tuple[tuple[Any, ...], bool]], exclusive: set[str], in_use: int) -> None:
        self._disks = disks
        self._exclusive = exclusive
        self._in_use = in_use

    def __call__(self, node: NodeInfo) -> Rejection | None:
        if self._in_use > 0:
            return VolumeRestrictions._CLAIM
        if self._disks:
            mounted_disks = [disk for other in node.pods.values() for disk in _disks(other)]
            if _conflict(self._disks, mounted_disks):
                return VolumeRestrictions._DISK
        return None

    def with_pod(self, pod: PodInfo, node: NodeInfo, sign: int) -> PodFilter:
        shared = sum(1 for name in pod.claims if f"{pod.namespace}/{name}" in self._exclusive)
        return _ExclusiveFilter(self._disks, self._exclusive, self._in_use + sign * shared)


def disks_conflict(pod: PodInfo, other: PodInfo) -> bool:
    """Report whether two pods cannot be on one node because of the disks that they mount."""
    return _conflict(_disks(pod), list(_disks(other)))


def _conflict(disks: Iterable[tuple[tuple[Any, ...], bool]], others: Sequence[tuple[tuple[Any, ...], bool]]) -> bool:
    """Report whether a disk is in both and mounted writable in one of them."""
    return any(
        _same(disk, other) and not (reads_only and other_reads_only)
        for disk, reads_only in disks
        for other, other_reads_only in others
    )


def _disks(pod: PodInfo) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Yield the pod's exclusive disks, and whether the pod mounts them read-only."""
    for volume in pod.pod.spec.volumes or ():
        if volume.gcePersistentDisk is not None:
            disk = volume.gcePersistentDisk
            yield ("gce", disk.pdName), bool(disk.readOnly)
        elif volume.awsElasticBlockStore is not None:
            yield ("ebs", volume.awsElasticBlockStore.volumeID), False
        elif volume.iscsi is not None:
            yield ("iscsi", volume.iscsi.iqn), bool(volume.iscsi.readOnly)
        elif volume.rbd is not None:
            disk = volume.rbd
            yield ("rbd", frozenset(disk.monitors), disk.pool or "rbd", disk.image), bool(disk.readOnly)


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Report whether two disks are the same; a Ceph cluster is identified by any of its monitors."""
    if one[0] == other[0] == "rbd":
        return one[2:] == other[2:] and not one[1].isdisjoint(other[1])
    return one == other


class VolumeZone(Plugin):
    """Requires the node to be in the zone and region of the volume's labels."""

    name: ClassVar[str] = "VolumeZone"
    _REJECTION: Final = Rejection(name, ("node(s) had no available volume zone",), resolvable=False)

    def __init__(self, catalog: VolumeCatalog) -> None:
        self._catalog = catalog

    def pre_filter(self, pod: PodInfo, cluster: Snapshot) -> PodFilter | None:
        allowed_zones = []
        for name in pod.claims:
            claim = self._catalog.claims.get(f"{pod.namespace}/{name}")
            volume = self._catalog.volumes.get((claim.spec.volumeName or "") if claim is not None else "")
            labels = (volume.metadata.labels or {}) if volume is not None else {}
            allowed_zones += [(key, frozenset(labels[key].split("__"))) for key in _ZONE_LABELS if key in labels]
        return _ZoneFilter(allowed_zones) if allowed_zones else None


class _ZoneFilter(PodFilter):
    def __init__(self, allowed_zones: list[tuple[str, frozenset[str]]]) -> None:
        self._allowed_zones = allowed_zones

    def __call__(self, node: NodeInfo) -> Rejection | None:
        labels = node.labels
        if not any(key in labels for key in _ZONE_LABELS):
            return None  # a node without topology labels matches any zone
        for key, values in self._allowed_zones:
            if labels.get(key, labels.get(_ZONE_LABELS[key])) not in values:
                return VolumeZone._REJECTION
        return None


#: CSI driver name and volume handle.
Disk = tuple[str, str]


class NodeVolumeLimits(Plugin):
    """Limits attached volumes per CSI driver by ``CSINode`` allocatable."""

    name: ClassVar[str] = "NodeVolumeLimits"
    _REJECTION: Final = Rejection(name, ("node(s) exceed max volume count",))

    def __init__(self, catalog: VolumeCatalog) -> None:
        self._catalog = catalog

    def pre_filter(self, pod: PodInfo, cluster: Snapshot) -> PodFilter | None:
        new = self.attached(pod) if pod.claims else set()
        return _LimitsFilter(self, new, self._attachments()) if new else None

    def attached(self, pod: PodInfo) -> set[Disk]:
        """Return the pod's CSI volumes. An unbound claim counts for the provisioner of its class."""
        disks: set[Disk] = set()
        for name in pod.claims:
            key = f"{pod.namespace}/{name}"
            claim = self._catalog.claims.get(key)
            if claim is None:
                continue
            disk = self._disk(claim.spec.volumeName or "")
            if disk is not None:
                disks.add(disk)
            elif claim.spec.volumeName not in self._catalog.volumes:
                storage_class = self._catalog.classes.get(class_of(claim))
                if storage_class is not None:
                    disks.add((storage_class.provisioner, key))
        return disks

    def _disk(self, volume_name: str) -> Disk | None:
        volume = self._catalog.volumes.get(volume_name)
        csi = volume.spec.csi if volume is not None else None
        return (csi.driver, csi.volumeHandle) if csi is not None else None

    def _attachments(self) -> dict[str, set[Disk]]:
        """Return the attached volumes by node, including those that no pod uses."""
        attachments: dict[str, set[Disk]] = {}
        for attachment in self._catalog.attachments.values():
            disk = self._disk(attachment.spec.source.persistentVolumeName or "")
            if disk is not None:
                attachments.setdefault(attachment.spec.nodeName, set()).add(disk)
        return attachments

    def limits(self, node: NodeInfo) -> dict[str, int]:
        """Return the maximum number of volumes by driver."""
        csi = self._catalog.csi_nodes.get(node.name)
        drivers = (csi.spec.drivers or ()) if csi is not None else ()
        return {
            driver.name: driver.allocatable.count
            for driver in drivers
            if driver.allocatable is not None and driver.allocatable.count is not None
        }


class _LimitsFilter(PodFilter):
    def __init__(self, plugin: NodeVolumeLimits, new: set[Disk], attachments: dict[str, set[Disk]]) -> None:
        self._plugin = plugin
        self._new = new
        self._attachments = attachments

    def __call__(self, node: NodeInfo) -> Rejection | None:
        limits = self._plugin.limits(node)
        if not limits:
            return None
        attached = {disk for other in node.pods.values() for disk in self._plugin.attached(other)}
        attached |= self._attachments.get(node.name, set())
        for driver in {driver for driver, _ in self._new - attached} & limits.keys():
            attached_count = sum(1 for disk in attached | self._new if disk[0] == driver)
            if attached_count > limits[driver]:
                return NodeVolumeLimits._REJECTION
        return None
