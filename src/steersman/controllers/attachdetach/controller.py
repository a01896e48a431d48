"""Controller of VolumeAttachments: watches pods, claims, volumes, Nodes and attachments."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lightkube.models.core_v1 import Node, PersistentVolume, PersistentVolumeClaim, Pod
from lightkube.models.storage_v1 import CSIDriver, VolumeAttachment

from steersman.client.changes import Deleted, Updated
from steersman.client.errors import AlreadyExists, NotFound
from steersman.client.objects import name_of, namespace_of, uid_of
from steersman.controllers.attachdetach.plan import (
    FORCE_SECONDS,
    NodePlan,
    attached_patch,
    attachment_name,
    in_use_of,
    is_attached,
    is_managed,
    is_shared,
    needs_volumes,
    plan_gone,
    plan_node,
    volume_of,
)
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.result import Result
from steersman.workloads.pod_volumes import claim_keys_of, claims_of
from steersman.workloads.pods import BY_NODE, node_names, node_of

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable

    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

_BY_CLAIM: Final = "attachdetach claim"
_OF_NODE: Final = "attachdetach node"
_OF_VOLUME: Final = "attachdetach volume"
#: Names that this controller generates; other attachments are not deleted.
_OURS: Final = re.compile(r"csi-[0-9a-f]{64}\Z")


class AttachDetachController(ManagedController):
    """Reconciles Nodes by name."""

    name: ClassVar[str] = "persistentvolume-attach-detach-controller"
    component: ClassVar[str] = "attachdetach-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=10)
        #: Monotonic time at which an attachment became unneeded, by name.
        self._idle: dict[str, float] = {}
        #: Node by volume of requested attachments that the cache does not show yet; the request may have failed.
        self._requested_nodes: dict[str, str] = {}
        #: Last ``volumesInUse`` of deleted Nodes with attachments.
        self._left_in_use: dict[str, Collection[str]] = {}
        never = context.options.disable_force_detach_on_timeout
        self._force_seconds: Final = float("inf") if never else FORCE_SECONDS
        self._nodes = self.watch(Node)
        self._nodes.add_callback(self._node_changed)
        self._pods = self.watch(Pod, keys=node_names, when=_moves_volumes)
        self._pods.add_index(BY_NODE, node_names)
        self._pods.add_index(_BY_CLAIM, claim_keys_of)
        self._claims = self.watch(PersistentVolumeClaim, keys=self._nodes_of_claim)
        self._volumes = self.watch(PersistentVolume, keys=self._nodes_of_volume)
        self._attachments = self.watch(VolumeAttachment, keys=_node_of_attachment)
        self._attachments.add_index(_OF_NODE, _node_of_attachment)
        self._attachments.add_index(_OF_VOLUME, _volume_of_attachment)
        self._attachments.add_callback(self._attachment_changed)
        self._drivers = self.watch(CSIDriver, keys=self._nodes_of_driver)

    def _nodes_of_claim(self, claim: PersistentVolumeClaim) -> list[str]:
        pods = self._pods.lister.by_index(_BY_CLAIM, f"{namespace_of(claim)}/{name_of(claim)}")
        return [name for pod in pods for name in node_names(pod)]

    def _nodes_of_volume(self, volume: PersistentVolume) -> list[str]:
        reference = volume.spec.claimRef if volume.spec else None
        if reference is None:
            return []
        pods = self._pods.lister.by_index(_BY_CLAIM, f"{reference.namespace}/{reference.name}")
        return [name for pod in pods for name in node_names(pod)]

    def _nodes_of_driver(self, driver: CSIDriver) -> set[str]:
        """Return the Nodes with attachments or pods for volumes of a driver: those that no longer need attaching are detached."""
        name = name_of(driver)
        volumes = (
            volume
            for volume in self._volumes.lister.list()
            if volume.spec is not None and volume.spec.csi is not None and volume.spec.csi.driver == name
        )
        nodes = {node for volume in volumes for node in self._nodes_of_volume(volume)}
        attachments = self._attachments.lister.list()
        return nodes | {attached.spec.nodeName for attached in attachments if attached.spec.attacher == name}

    def _node_changed(self, change: Change[Node]) -> None:
        node = change.latest
        if isinstance(change, Deleted):
            self._left_in_use[name_of(node)] = in_use_of(node)
        else:
            self._left_in_use.pop(name_of(node), None)

    def _attachment_changed(self, change: Change[VolumeAttachment]) -> None:
        """Handle an attachment event: deletion frees the volume, attachment and failure are reported to pods."""
        attachment = change.latest
        if isinstance(change, Deleted):
            self._idle.pop(name_of(attachment), None)
            self._release_volume(volume_of(attachment))
            return
        if self._requested_nodes.get(volume_of(attachment)) == attachment.spec.nodeName:
            del self._requested_nodes[volume_of(attachment)]
        if isinstance(change, Updated):
            self._record_result(change.old, change.new)

    def _release_volume(self, name: str) -> None:
        volume = self._volumes.lister.get(name)
        for node in self._nodes_of_volume(volume) if volume is not None else ():
            self.queue.add(node)

    def _record_result(self, old: VolumeAttachment, new: VolumeAttachment) -> None:
        volume = volume_of(new)
        if is_attached(new) and not is_attached(old):
            text = f'AttachVolume.Attach succeeded for volume "{volume}" '
            self._record_pod_events(new.spec.nodeName, volume, "Normal", "SuccessfulAttachVolume", text)
        error = new.status.attachError if new.status else None
        before = old.status.attachError if old.status else None
        if error is not None and error != before:
            text = f'AttachVolume.Attach failed for volume "{volume}" : {error.message or ""}'
            self._record_pod_events(new.spec.nodeName, volume, "Warning", "FailedAttachVolume", text)

    def _record_pod_events(self, node: str, volume: str, *event: str) -> None:
        type_, reason, text = event
        for pod in self._pods.lister.by_index(BY_NODE, node):
            if volume in self._attachable_volumes(pod):
                self.events.event(pod, type_, reason, text)

    def _attachable_volumes(self, pod: Pod) -> dict[str, PersistentVolume]:
        """Return the CSI volumes of a pod that need attaching, by name."""
        volumes: dict[str, PersistentVolume] = {}
        for name in claims_of(pod):
            claim = self._claims.lister.get(name, namespace=namespace_of(pod))
            bound = claim.spec.volumeName if claim is not None and claim.spec is not None else None
            volume = self._volumes.lister.get(bound) if bound else None
            reference = volume.spec.claimRef if volume is not None and volume.spec is not None else None
            if volume is None or reference is None or claim is None or reference.uid != uid_of(claim):
                continue
            if self._is_attachable(volume):
                volumes[name_of(volume)] = volume
        return volumes

    def _is_attachable(self, volume: PersistentVolume) -> bool:
        csi = volume.spec.csi if volume.spec else None
        driver = self._drivers.lister.get(csi.driver) if csi is not None else None
        if csi is None:
            return False
        return driver is None or driver.spec.attachRequired is not False

    async def reconcile(self, key: str) -> Result | None:
        """Attach the volumes that pods of the Node need, and detach unneeded ones."""
        node = self._nodes.lister.get(key)
        if node is not None and not is_managed(node):
            return None
        attachments = [
            attachment
            for attachment in self._attachments.lister.by_index(_OF_NODE, key)
            if _OURS.match(name_of(attachment))
        ]
        desired_volumes = self._desired_volumes(node) if node is not None else {}
        volumes = {
            name: volume
            for attachment in attachments
            if (volume := self._volumes.lister.get(name := volume_of(attachment)))
        }
        waited = self._waited(attachments, desired_volumes)
        if node is None:
            in_use = self._left_in_use.get(key) if attachments else self._left_in_use.pop(key, None)
            plan = plan_gone(
                attachments, in_use=in_use, volumes=volumes, waited=waited, force_seconds=self._force_seconds
            )
        else:
            plan = plan_node(
                node,
                desired_volumes,
                attachments,
                others={name: self._other_nodes(name, key) for name in desired_volumes},
                volumes=volumes | desired_volumes,
                waited=waited,
                force_seconds=self._force_seconds,
            )
        # Before the first await, so that no other Node gets the same volume meanwhile.
        self._requested_nodes |= {
            volume_of(attachment): key
            for attachment in plan.attach
            if not is_shared(desired_volumes[volume_of(attachment)])
        }
        await self._drop_unneeded(key, desired_volumes)
        await self._apply(key, node, plan)
        return self._next_check(plan)

    def _desired_volumes(self, node: Node) -> dict[str, PersistentVolume]:
        desired_volumes: dict[str, PersistentVolume] = {}
        for pod in self._pods.lister.by_index(BY_NODE, name_of(node)):
            if needs_volumes(pod, node):
                desired_volumes |= self._attachable_volumes(pod)
        return desired_volumes

    def _other_nodes(self, volume: str, node: str) -> list[str]:
        """Return the other Nodes that a volume is attached to, or is about to be."""
        nodes = [attachment.spec.nodeName for attachment in self._attachments.lister.by_index(_OF_VOLUME, volume)]
        return [name for name in (*nodes, self._requested_nodes.get(volume, node)) if name != node]

    async def _drop_unneeded(self, key: str, desired_volumes: Container[str]) -> None:
        """Check with the server whether requested attachments that are no longer needed were created."""
        for volume in [
            name for name, node in self._requested_nodes.items() if node == key and name not in desired_volumes
        ]:
            cached_volume = self._volumes.lister.get(volume)
            csi = cached_volume.spec.csi if cached_volume is not None and cached_volume.spec is not None else None
            if csi is not None and await self._exists(attachment_name(csi.volumeHandle, csi.driver, key)):
                continue
            self._requested_nodes.pop(volume, None)
            self._release_volume(volume)

    async def _exists(self, attachment: str) -> bool:
        try:
            await self.client.get(VolumeAttachment, attachment)
        except NotFound:
            return False
        return True

    def _waited(
        self, attachments: Iterable[VolumeAttachment], desired_volumes: dict[str, PersistentVolume]
    ) -> dict[str, float]:
        now = self.clock.monotonic()
        for attachment in attachments:
            if volume_of(attachment) in desired_volumes:
                self._idle.pop(name_of(attachment), None)
            else:
                self._idle.setdefault(name_of(attachment), now)
        return {name_of(attachment): now - self._idle.get(name_of(attachment), now) for attachment in attachments}

    def _next_check(self, plan: NodePlan) -> Result | None:
        """Return the time until the first forced detach."""
        now = self.clock.monotonic()
        waits = [self._idle[name_of(attachment)] + self._force_seconds - now for attachment in plan.held]
        remaining = [seconds for seconds in waits if 0 < seconds < float("inf")]
        return Result(requeue_after_seconds=min(remaining)) if remaining else None

    async def _apply(self, key: str, node: Node | None, plan: NodePlan) -> None:
        """Write the plan. Node status is patched before a detach, so that the kubelet does not rely on the volume."""
        for volume in plan.elsewhere:
            text = (
                f'Multi-Attach error for volume "{volume}" Volume is already exclusively attached to one node and '
                "can't be attached to another"
            )
            self._record_pod_events(key, volume, "Warning", "FailedAttachVolume", text)
        patch = attached_patch(node, plan.attached) if node is not None else None
        if patch is not None:
            written: Any = await self.client.patch(Node, key, patch, subresource="status")
            self.own_writes.note(key, self._nodes, written)
        for attachment in plan.detach:
            await self.delete_seen(attachment)
        for attachment in plan.attach:
            with suppress(AlreadyExists):
                self.record_created(key, self._attachments, await self.client.create(attachment))


def _node_of_attachment(attachment: VolumeAttachment) -> tuple[str, ...]:
    return (attachment.spec.nodeName,)


def _volume_of_attachment(attachment: VolumeAttachment) -> tuple[str, ...]:
    return (volume_of(attachment),)


def _moves_volumes(change: Change[Pod]) -> bool:
    """Report whether a pod event can affect attachments."""
    if not claims_of(change.latest):
        return False
    if not isinstance(change, Updated):
        return True
    old, new = change.old, change.new
    return node_of(old) != node_of(new) or needs_volumes(old, None) != needs_volumes(new, None)


def build(context: ControllerContext) -> AttachDetachController:
    """Construct the controller."""
    return AttachDetachController(context)
