"""Informer event handlers: mirror the cluster into the snapshot, the catalogs and the queue.

Handlers are synchronous callbacks on the event loop, so the state never changes during a scheduling cycle. Upstream:
``pkg/scheduler/eventhandlers.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lightkube.models.apps_v1 import ReplicaSet, StatefulSet
from lightkube.models.core_v1 import (
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ReplicationController,
    Service,
)
from lightkube.models.policy_v1 import PodDisruptionBudget
from lightkube.models.resource_v1 import DeviceClass, ResourceClaim, ResourceSlice
from lightkube.models.storage_v1 import CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment

from steersman.apimachinery.selectors import LabelSelector, requirement
from steersman.client.changes import Added, Deleted, Updated
from steersman.client.objects import key_of, labels_of, name_of, namespace_of, uid_of
from steersman.scheduler.devices.catalog import allocation_of
from steersman.scheduler.devices.extended import owner_of
from steersman.scheduler.hints import claim_queueing_hint
from steersman.scheduler.matching import label_selector
from steersman.scheduler.pod_info import PodInfo
from steersman.scheduler.queue import ClusterEvent, ObjectChange
from steersman.workloads.pods import is_finished

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.client.informer_factory import InformerFactory
    from steersman.scheduler.core import SchedulerCore


class EventHandlers:
    """Informers of all resources that scheduling depends on; ``wake`` is called after every relevant change."""

    def __init__(self, informers: InformerFactory, core: SchedulerCore, *, wake: Callable[[], None]) -> None:
        self._core = core
        self._wake = wake
        self._informers: list[Informer[Any]] = []
        catalog, workloads = core.catalog, core.workloads
        # Pods last: their handlers use the state of all other resources.
        self._subscribe(informers.informer(Node), self._node)
        self._subscribe(informers.informer(Namespace), self._namespace)
        self._mirror(informers.informer(PersistentVolume), catalog.volumes, ClusterEvent.VOLUME)
        self._subscribe(informers.informer(PersistentVolumeClaim), self._volume_claim)
        self._mirror(informers.informer(StorageClass), catalog.classes, ClusterEvent.STORAGE_CLASS)
        self._mirror(informers.informer(CSINode), catalog.csi_nodes, ClusterEvent.CSI_NODE)
        self._mirror(informers.informer(CSIDriver), catalog.csi_drivers, ClusterEvent.CAPACITY, when=(Updated, Deleted))
        self._mirror(informers.informer(CSIStorageCapacity), catalog.capacities, ClusterEvent.CAPACITY)
        self._subscribe(informers.informer(ResourceClaim), self._claim)
        self._mirror(informers.informer(VolumeAttachment), catalog.attachments, ClusterEvent.DETACHED, when=Deleted)
        self._subscribe(informers.informer(DeviceClass), self._device_class)
        self._subscribe(informers.informer(ResourceSlice), self._slice)
        self._subscribe(informers.informer(Service), lambda change: _service(change, workloads.set_service))
        for kind in (ReplicationController, ReplicaSet, StatefulSet):
            self._subscribe(informers.informer(kind), lambda change: _owner(change, workloads.set_owner))
        self.budgets: Final = informers.informer(PodDisruptionBudget)
        self._informers.append(self.budgets)
        self.pods: Final = informers.informer(Pod)
        self._subscribe(self.pods, self._pod)

    def start(self) -> None:
        """Start the informers. Idempotent."""
        for informer in self._informers:
            informer.start()

    async def wait_synced(self) -> None:
        """Wait until all informers have synced."""
        for informer in self._informers:
            await informer.wait_synced()

    def _subscribe(self, informer: Informer[Any], call: Callable[[Change[Any]], None]) -> None:
        informer.add_callback(call)
        self._informers.append(informer)

    def _mirror(
        self,
        informer: Informer[Any],
        table: MutableMapping[str, Any],
        event: ClusterEvent,
        *,
        when: tuple[type, ...] | type = (Added, Updated),
    ) -> None:
        """Mirror a resource into ``table`` by key and report ``event`` on changes of type ``when``."""

        def handler(change: Change[Any]) -> None:
            key = key_of(change.latest)
            if isinstance(change, Deleted):
                table.pop(key, None)
            else:
                table[key] = change.new
            if isinstance(change, when):
                self._on_cluster_event(event, change)

        self._subscribe(informer, handler)

    def _volume_claim(self, change: Change[PersistentVolumeClaim]) -> None:
        key, claims = key_of(change.latest), self._core.catalog.claims
        if isinstance(change, Deleted):
            claims.pop(key, None)
            return
        claims[key] = change.new
        hint = claim_queueing_hint(namespace_of(change.new), name_of(change.new))
        self._core.on_cluster_event(ClusterEvent.CLAIM, hint, change=_objects(change))
        self._wake()

    def _device_class(self, change: Change[DeviceClass]) -> None:
        self._core.set_device_class(name_of(change.latest), None if isinstance(change, Deleted) else change.new)
        self._wake()

    def _slice(self, change: Change[ResourceSlice]) -> None:
        self._core.devices.put_slice(name_of(change.latest), None if isinstance(change, Deleted) else change.new)
        self._on_cluster_event(ClusterEvent.DEVICES, change)

    def _claim(self, change: Change[Any]) -> None:
        """Requeue the pods that use the claim; all pods waiting for devices when the claim's allocation was released."""
        claim: Any = change.latest
        devices = self._core.devices
        before = devices.claims.get(key_of(claim))
        if isinstance(change, Deleted):
            devices.remove_claim(claim)
        elif not devices.put_claim(claim):
            return
        released = before is not None and allocation_of(before) is not None
        if not isinstance(change, Deleted) and allocation_of(claim) is not None:
            released = False

        def hint(_: str, pod: PodInfo) -> bool:
            is_used = any(use.claim == name_of(claim) for use in pod.device_claims)
            return released or owner_of(claim) == pod.uid or (is_used and pod.namespace == namespace_of(claim))

        self._core.on_cluster_event(ClusterEvent.DEVICES, hint, change=_objects(change))
        self._wake()

    def _on_cluster_event(self, event: ClusterEvent, change: Change[Any]) -> None:
        self._core.on_cluster_event(event, change=_objects(change))
        self._wake()

    def _namespace(self, change: Change[Any]) -> None:
        namespaces = self._core.cluster.namespaces
        name = name_of(change.latest)
        if isinstance(change, Deleted):
            namespaces.pop(name, None)
            return
        if namespaces.get(name) != labels_of(change.new):
            namespaces[name] = labels_of(change.new)
            self._on_cluster_event(ClusterEvent.NAMESPACE, change)

    def _node(self, change: Change[Any]) -> None:
        if isinstance(change, Deleted):
            self._core.remove_node(name_of(change.latest))
        else:
            self._core.set_node(change.new)
        self._wake()

    def _pod(self, change: Change[Pod]) -> None:
        pod: Any = change.latest
        if isinstance(change, Deleted):
            self._core.remove_deleted_pod(uid_of(pod))
        else:
            before: Any = getattr(change, "old", None)
            if before is not None and uid_of(before) != uid_of(pod):  # deleted and recreated during a watch gap
                self._core.remove_deleted_pod(uid_of(before))
            if pod.spec.nodeName:
                self._core.set_assigned_pod(pod)
            elif is_finished(pod) or pod.metadata.deletionTimestamp is not None:
                self._core.remove_deleted_pod(uid_of(pod))
            else:
                self._core.set_pending_pod(PodInfo(pod))
        self._wake()


def _objects(change: Change[Any]) -> ObjectChange:
    if isinstance(change, Deleted):
        return ObjectChange(change.latest)
    return ObjectChange(getattr(change, "old", None), change.new)


def _service(change: Change[Any], put: Callable[[str, str, Any], None]) -> None:
    service = change.latest
    selector = None if isinstance(change, Deleted) else service.spec.selector
    put(namespace_of(service), name_of(service), selector)


def _owner(change: Change[Any], put: Callable[[str, LabelSelector | None], None]) -> None:
    owner = change.latest
    if isinstance(change, Deleted):
        put(uid_of(owner), None)
        return
    selector = owner.spec.selector
    if isinstance(selector, dict):  # a ReplicationController
        put(uid_of(owner), LabelSelector([requirement(key, "=", [value]) for key, value in selector.items()]))
    else:
        put(uid_of(owner), label_selector(selector))
