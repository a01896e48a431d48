"""VolumeBinding: a pod's claims must have volumes reachable from the node, or be bound or provisioned there (KEP-490)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.scheduler.framework import Plugin, PodFilter, PreFilterRejection, Rejection
from steersman.scheduler.volumes import (
    SELECTED_NODE,
    Binding,
    can_provision,
    class_of,
    is_bound,
    is_reachable,
    requested_size,
)

if TYPE_CHECKING:
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.objects import PersistentVolume, PersistentVolumeClaim
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot
    from steersman.scheduler.volumes import VolumeCatalog

_NAME: Final = "VolumeBinding"
#: Reasons in the order of upstream's ``FindPodVolumes``; a node may have one for bound and one for unbound claims.
_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
_NO_VOLUME: Final = "node(s) didn't find available persistent volumes to bind"
_NO_SPACE: Final = "node(s) did not have enough free storage"
_MISSING: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_REASONS: Final = (_CONFLICT, _NO_VOLUME, _NO_SPACE, _MISSING)


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
        if claim.status is not None and claim.status.phase == "Lost":
            volume = claim.spec.volumeName
            raise PreFilterRejection(
                _NAME, f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
            )
        if claim.metadata.deletionTimestamp is not None:
            raise PreFilterRejection(_NAME, f'persistentvolumeclaim "{name}" is being deleted')
        if name in _ephemeral(pod) and not _owned(claim, pod):
            claim_text = f"PVC {pod.namespace}/{name} ({claim.metadata.uid})"
            raise PreFilterRejection(
                _NAME, f"{claim_text} was not created for pod {pod.key} ({pod.uid}) (pod is not owner)"
            )
        return claim

    def binding(self, pod: PodInfo, cluster: Snapshot, node: NodeInfo) -> Binding:
        """Return the volume operations for the selected node, which passed the filter."""
        state = self.pre_filter(pod, cluster)
        binding = state.binding(node) if isinstance(state, _VolumesFilter) else None
        return binding if isinstance(binding, Binding) else Binding()


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
        #: Smallest first, so that each claim gets the smallest volume that fits. Upstream: ``findMatchingVolumes``.
        self._unbound = sorted(unbound, key=requested_size)

    def __call__(self, node: NodeInfo) -> Rejection | None:
        conflict = (self._bound_conflict(node), self.binding(node))
        reasons = tuple(reason for reason in _REASONS if reason in conflict)
        return Rejection(_NAME, reasons, resolvable=False) if reasons else None

    def _bound_conflict(self, node: NodeInfo) -> str:
        """Return why a bound volume cannot be used on the node; empty if all can."""
        for volume in self._bound:
            if volume is None:
                return _MISSING
            if not is_reachable(volume, node):
                return _CONFLICT
        return ""

    def binding(self, node: NodeInfo) -> Binding | str:
        """Return the volume operations for the unbound claims, or why they cannot be bound on the node.

        A claim with a selected node waits for its provisioner there.
        """
        static: list[tuple[PersistentVolumeClaim, PersistentVolume]] = []
        selected: list[PersistentVolumeClaim] = []
        provision: list[PersistentVolumeClaim] = []
        for claim in self._unbound:
            selected_node = (claim.metadata.annotations or {}).get(SELECTED_NODE)
            if selected_node is not None:
                if selected_node != node.name:
                    return _NO_VOLUME
                selected.append(claim)
                continue
            taken_volumes = [volume.metadata.name for _, volume in static]
            volume = self._catalog.matching_volume(claim, node, taken_volumes)
            if volume is not None:
                static.append((claim, volume))
            else:
                provision.append(claim)
        provision = [*selected, *provision]
        for claim in provision:
            if not can_provision(self._catalog.classes[class_of(claim)], node):
                return _NO_VOLUME
            if not self._catalog.has_capacity(claim, node):
                return _NO_SPACE
        return Binding(tuple(static), tuple(provision))
