"""Keeps the scheduler's picture as the cluster is: what informers tell goes into the snapshot, the catalog and the queue.

Everything here runs at once, in the loop's own turn: between two attempts to schedule, never within one.
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
from steersman.client.changes import Deleted
from steersman.client.objects import key_of, labels_of, name_of, namespace_of, uid_of
from steersman.runtime.pods import is_finished
from steersman.scheduler.devices.catalog import allocation_of
from steersman.scheduler.devices.extended import owner_of
from steersman.scheduler.matching import label_selector
from steersman.scheduler.pod_info import PodInfo
from steersman.scheduler.queue import Happening

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.client.informer_factory import InformerFactory
    from steersman.scheduler.brain import Brain


class Following:
    """Informers of all that scheduling looks at. ``wake`` is called when there may be something to do."""

    def __init__(self, informers: InformerFactory, brain: Brain, *, wake: Callable[[], None]) -> None:
        self._brain = brain
        self._wake = wake
        self._informers: list[Informer[Any]] = []
        catalog, workloads = brain.catalog, brain.workloads
        # Nodes, volumes and the like before pods: what pods are held against.
        self._follow(informers.informer(Node), self._node)
        self._follow(informers.informer(Namespace), self._namespace)
        self._keep(informers.informer(PersistentVolume), catalog.volumes, Happening.VOLUME)
        self._keep(informers.informer(PersistentVolumeClaim), catalog.claims, Happening.CLAIM)
        self._keep(informers.informer(StorageClass), catalog.classes, Happening.STORAGE_CLASS)
        self._keep(informers.informer(CSINode), catalog.csi_nodes, Happening.CSI_NODE)
        self._keep(informers.informer(CSIDriver), catalog.csi_drivers, Happening.CAPACITY)
        self._keep(informers.informer(CSIStorageCapacity), catalog.capacities, Happening.CAPACITY)
        self._follow(informers.informer(ResourceClaim), self._claim)
        self._keep(informers.informer(VolumeAttachment), catalog.attachments, Happening.DETACHED)
        self._follow(informers.informer(DeviceClass), self._device_class)
        self._follow(informers.informer(ResourceSlice), self._slice)
        self._follow(informers.informer(Service), lambda change: _service(change, workloads.set_service))
        for kind in (ReplicationController, ReplicaSet, StatefulSet):
            self._follow(informers.informer(kind), lambda change: _owner(change, workloads.set_owner))
        self.budgets: Final = informers.informer(PodDisruptionBudget)
        self._informers.append(self.budgets)
        self.pods: Final = informers.informer(Pod)
        self._follow(self.pods, self._pod)

    def start(self) -> None:
        """Start every informer that nobody else has."""
        for informer in self._informers:
            informer.start()

    async def wait_synced(self) -> None:
        """Return when the whole cluster is known."""
        for informer in self._informers:
            await informer.wait_synced()

    def _follow(self, informer: Informer[Any], call: Callable[[Change[Any]], None]) -> None:
        informer.add_callback(call)
        self._informers.append(informer)

    def _keep(self, informer: Informer[Any], table: MutableMapping[str, Any], happening: Happening) -> None:
        """Mirror a resource into a table by key."""

        def tell(change: Change[Any]) -> None:
            key = key_of(change.latest)
            if isinstance(change, Deleted):
                table.pop(key, None)
            else:
                table[key] = change.new
            self._happened(happening)

        self._follow(informer, tell)

    def _device_class(self, change: Change[DeviceClass]) -> None:
        self._brain.set_device_class(name_of(change.latest), None if isinstance(change, Deleted) else change.new)
        self._wake()

    def _slice(self, change: Change[ResourceSlice]) -> None:
        self._brain.devices.put_slice(name_of(change.latest), None if isinstance(change, Deleted) else change.new)
        self._happened(Happening.DEVICES)

    def _claim(self, change: Change[Any]) -> None:
        """Of use to the pods that have the claim; to all when its devices are free again."""
        claim: Any = change.latest
        devices = self._brain.devices
        before = devices.claims.get(key_of(claim))
        if isinstance(change, Deleted):
            devices.remove_claim(claim)
        elif not devices.put_claim(claim):
            return
        given_back = before is not None and allocation_of(before) is not None
        if not isinstance(change, Deleted) and allocation_of(claim) is not None:
            given_back = False

        def helps(_: str, pod: PodInfo) -> bool:
            named = any(use.claim == name_of(claim) for use in pod.device_claims)
            return given_back or owner_of(claim) == pod.uid or (named and pod.namespace == namespace_of(claim))

        self._brain.happened(Happening.DEVICES, helps)
        self._wake()

    def _happened(self, happening: Happening) -> None:
        self._brain.happened(happening)
        self._wake()

    def _namespace(self, change: Change[Any]) -> None:
        namespaces = self._brain.cluster.namespaces
        name = name_of(change.latest)
        if isinstance(change, Deleted):
            namespaces.pop(name, None)
            return
        if namespaces.get(name) != labels_of(change.new):
            namespaces[name] = labels_of(change.new)
            self._happened(Happening.NAMESPACE)

    def _node(self, change: Change[Any]) -> None:
        if isinstance(change, Deleted):
            self._brain.remove_node(name_of(change.latest))
        else:
            self._brain.set_node(change.new)
        self._wake()

    def _pod(self, change: Change[Pod]) -> None:
        pod: Any = change.latest
        if isinstance(change, Deleted):
            self._brain.pod_gone(uid_of(pod))
        else:
            before: Any = getattr(change, "old", None)
            if before is not None and uid_of(before) != uid_of(pod):  # made anew while nobody watched
                self._brain.pod_gone(uid_of(before))
            if pod.spec.nodeName:
                self._brain.pod_placed(pod)
            elif is_finished(pod) or pod.metadata.deletionTimestamp is not None:
                self._brain.pod_gone(uid_of(pod))
            else:
                self._brain.pod_waits(PodInfo(pod))
        self._wake()


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
    if isinstance(selector, dict):  # of a ReplicationController
        put(uid_of(owner), LabelSelector([requirement(key, "=", [value]) for key, value in selector.items()]))
    else:
        put(uid_of(owner), label_selector(selector))
