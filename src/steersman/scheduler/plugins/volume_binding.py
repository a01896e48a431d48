"""VolumeBinding: a pod's claims must have volumes reachable from the node, or be bound or provisioned there (KEP-490)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.scheduler.framework import Plugin, PodFilter, PreFilterRejection, Rejection
from steersman.scheduler.volumes import Binding, can_provision, class_of, is_bound, is_reachable

if TYPE_CHECKING:
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.objects import PersistentVolume, PersistentVolumeClaim
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot
    from steersman.scheduler.volumes import VolumeCatalog

_NAME: Final = "VolumeBinding"
_CONFLICT: Final = Rejection(_NAME, ("node(s) didn't match PersistentVolume's node affinity",), resolvable=False)
_MISSING: Final = Rejection(
    _NAME, ("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",), resolvable=False
)
_NO_VOLUME: Final = Rejection(_NAME, ("node(s) didn't find available persistent volumes to bind",), resolvable=False)

_NO_SPACE: Final = Rejection(_NAME, ("node(s) did not have enough free storage",), resolvable=False)


class VolumeBinding(Plugin):
    """Requires immediate claims to be bound; claims with WaitForFirstConsumer are bound on the selected node."""

    name: ClassVar[str] = _NAME

    def __init__(self, catalog: VolumeCatalog) -> None:
        self._catalog = catalog

    def pre_filter(self, pod: PodInfo, cluster: Snapshot) -> PodFilter | None:
        if not pod.claims:
            return None
        bound, unbound, immediate = [], [], False
        for name in pod.claims:
            claim = self._claim(pod, name)
            if is_bound(claim):
                bound.append(claim)
            elif self._catalog.waits_for_consumer(claim) and not claim.spec.volumeName:
                unbound.append(claim)
            else:
                immediate = True
        if immediate:
            raise PreFilterRejection(_NAME, "pod has unbound immediate PersistentVolumeClaims")
        return _VolumesFilter(self._catalog, bound, unbound)

    def _claim(self, pod: PodInfo, name: str) -> PersistentVolumeClaim:
        claim = self._catalog.claims.get(f"{pod.namespace}/{name}")
        if claim is None:
            if name in _ephemeral(pod):
                raise PreFilterRejection(
                    _NAME, f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
                )
            raise PreFilterRejection(_NAME, f'persistentvolumeclaim "{name}" not found')
        if claim.metadata.deletionTimestamp is not None:
            raise PreFilterRejection(_NAME, f'persistentvolumeclaim "{name}" is being deleted')
        if claim.status is not None and claim.status.phase == "Lost":
            volume = claim.spec.volumeName
            raise PreFilterRejection(
                _NAME, f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
            )
        if name in _ephemeral(pod) and not _owned(claim, pod):
            raise PreFilterRejection(
                _NAME, f'PVC "{pod.namespace}/{name}" was not created for pod "{pod.key}" (pod is not owner)'
            )
        return claim

    def binding(self, pod: PodInfo, cluster: Snapshot, node: NodeInfo) -> Binding:
        """Return the volume operations for the selected node, which passed the filter."""
        state = self.pre_filter(pod, cluster)
        found = state.binding(node) if isinstance(state, _VolumesFilter) else None
        return found if isinstance(found, Binding) else Binding()


def _ephemeral(pod: PodInfo) -> set[str]:
    volumes = pod.pod.spec.volumes or ()
    return {f"{pod.name}-{volume.name}" for volume in volumes if volume.ephemeral is not None}


def _owned(claim: PersistentVolumeClaim, pod: PodInfo) -> bool:
    return any(reference.controller and reference.uid == pod.uid for reference in claim.metadata.ownerReferences or ())


class _VolumesFilter(PodFilter):
    def __init__(
        self, catalog: VolumeCatalog, bound: list[PersistentVolumeClaim], unbound: list[PersistentVolumeClaim]
    ) -> None:
        self._catalog = catalog
        self._bound = [catalog.volumes.get(claim.spec.volumeName or "") for claim in bound]
        self._unbound = unbound

    def __call__(self, node: NodeInfo) -> Rejection | None:
        for volume in self._bound:
            if volume is None:
                return _MISSING
            if not is_reachable(volume, node):
                return _CONFLICT
        found = self.binding(node)
        return found if isinstance(found, Rejection) else None

    def binding(self, node: NodeInfo) -> Binding | Rejection:
        """Return the volume operations for the unbound claims, or why they cannot be bound on the node."""
        static: list[tuple[PersistentVolumeClaim, PersistentVolume]] = []
        provision: list[PersistentVolumeClaim] = []
        for claim in self._unbound:
            taken = [volume.metadata.name for _, volume in static]
            found = next((each for each in self._catalog.candidates(claim, taken) if is_reachable(each, node)), None)
            if found is not None:
                static.append((claim, found))
            elif not can_provision(self._catalog.classes[class_of(claim)], node):
                return _NO_VOLUME
            elif not self._catalog.has_capacity(claim, node):
                return _NO_SPACE
            else:
                provision.append(claim)
        return Binding(tuple(static), tuple(provision))
