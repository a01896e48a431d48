"""Scenario of volumes on Nodes: each is attached where a pod needs it, single-node volumes to one Node only."""

from __future__ import annotations

from collections import Counter
from typing import Any

from lightkube.models.core_v1 import Node, PersistentVolume, PersistentVolumeClaim, Pod
from lightkube.models.storage_v1 import VolumeAttachment
from tests.conformance.histories import NAMESPACE, REST_SECONDS, Edits, Scenario, World

from steersman.client.objects import metadata_field, name_of, uid_of
from steersman.workloads.pods import is_finished, node_of

NODES = ("a", "b", "c")
PODS = 5
#: By number of the volume: its driver and access mode. The last driver's volumes need no attaching.
VOLUMES = (("d", "ReadWriteOnce"), ("d", "ReadWriteOnce"), ("d", "ReadWriteMany"), ("plain", "ReadWriteOnce"))
HOLD = "example.com/attacher"
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_MANAGED = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}


class Attachments(Scenario):
    """Pods move between Nodes with their volumes; Nodes stop, are taken out of service, and are recreated."""

    controllers = ("persistentvolume-attach-detach-controller",)
    #: Time after which volumes of a silent Node are detached.
    rest_seconds = 10 * 60.0

    def __init__(self) -> None:
        #: Nodes whose kubelets do nothing.
        self._silent: set[str] = set()
        #: Single-node volumes attached to several Nodes, or not detached from an out-of-service one.
        self._torn: set[str] = set()
        #: By UID of an attachment to an out-of-service Node, since when it is obsolete.
        self._useless: dict[str, float] = {}

    async def prepare(self, world: World) -> None:
        driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "plain"}}
        await world.client.create({**driver, "spec": {"attachRequired": False}})
        for name in NODES:
            await self._make_node(world, name)
        for number in range(len(VOLUMES)):
            await self._bind(world, number)

    def edits(self) -> Edits:
        return [self.make_pod, self.make_pod, self.make_pod, self.replace_pod, self.replace_pod,
                self.terminate_pod, self.terminate_pod, self.end_pod, self.fall_silent, self.wake,
                self.give_up, self.remove_node, self.replace_node, self.rebind]  # fmt: skip

    async def live(self, world: World) -> None:
        """Act as kubelets, which use attached volumes while they have pods for them, and as the driver."""
        attachments = await world.client.list(VolumeAttachment)
        places = Counter(attached.spec.source.persistentVolumeName for attached in attachments)
        self._torn |= {volume for volume, count in places.items() if count > 1 and not _is_shared(volume)}
        for attachment in attachments:
            await self._drive(world, attachment)
        for node in await world.client.list(Node):
            if name_of(node) not in self._silent:
                await self._run_kubelet(world, node)

    async def _drive(self, world: World, attachment: VolumeAttachment) -> None:
        name, status = name_of(attachment), attachment.status
        if metadata_field(attachment, "deletionTimestamp"):
            if world.dice.random() < 0.5:
                await world.client.patch(VolumeAttachment, name, {"metadata": {"finalizers": None}})
        elif not (status and status.attached) and world.dice.random() < 0.7:
            await world.client.patch(VolumeAttachment, name, {"metadata": {"finalizers": [HOLD]}})
            reported = {"attached": True} if world.dice.random() < 0.8 else {"attachError": {"message": "not now"}}
            await world.client.patch(VolumeAttachment, name, {"status": reported}, subresource="status")

    async def _run_kubelet(self, world: World, node: Node) -> None:
        in_use: set[str] = set()
        for pod in await world.all(Pod):
            if node_of(pod) != name_of(node):
                continue
            if metadata_field(pod, "deletionTimestamp"):
                await world.client.delete_object(pod, grace_period_seconds=0)
            elif not is_finished(pod):
                in_use |= {_unique(number) for number in _numbers(pod)}
        listed = [volume.name for volume in node.status.volumesAttached or ()]
        used = sorted(in_use & set(listed)) or None
        if used != (node.status.volumesInUse or None):
            await world.client.patch(Node, name_of(node), {"status": {"volumesInUse": used}}, subresource="status")

    # Volumes

    async def _bind(self, world: World, number: int) -> None:
        """Create a claim and its volume, bound to each other."""
        driver, mode = VOLUMES[number]
        spec: dict[str, Any] = {"accessModes": [mode], "storageClassName": "", "volumeName": f"v{number}",
                                "resources": {"requests": {"storage": "1Gi"}}}  # fmt: skip
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"c{number}"}, "spec": spec}
        created = await world.client.create(claim, namespace=NAMESPACE)
        reference = {"namespace": NAMESPACE, "name": f"c{number}", "uid": uid_of(created)}
        spec = {"accessModes": [mode], "storageClassName": "", "capacity": {"storage": "1Gi"}, "claimRef": reference,
                "persistentVolumeReclaimPolicy": "Retain",
                "csi": {"driver": driver, "volumeHandle": f"h{number}"}}  # fmt: skip
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"v{number}"}, "spec": spec}
        await world.client.create(volume)

    async def rebind(self, world: World) -> None:
        """Recreate the claim, and bind the volume a moment later."""
        number = world.dice.randrange(len(VOLUMES))
        for model, name, namespace in (
            (PersistentVolumeClaim, f"c{number}", NAMESPACE),
            (PersistentVolume, f"v{number}", None),
        ):
            await world.client.patch(model, name, {"metadata": {"finalizers": None}}, namespace=namespace)
            await world.client.delete(model, name, namespace=namespace)
        await self._bind(world, number)

    # Nodes

    async def _make_node(self, world: World, name: str) -> None:
        metadata = {"name": name, "annotations": _MANAGED}
        await world.client.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        await self._say(world, name, "True")
        self._silent.discard(name)

    async def _say(self, world: World, name: str, ready: str) -> None:
        patch = {"status": {"conditions": [{"type": "Ready", "status": ready}]}}
        await world.client.patch(Node, name, patch, subresource="status")

    async def fall_silent(self, world: World) -> None:
        name = world.dice.choice(NODES)
        self._silent.add(name)
        await self._say(world, name, "Unknown")

    async def wake(self, world: World) -> None:
        for name in sorted(self._silent):
            self._silent.discard(name)
            await world.client.patch(Node, name, {"spec": {"taints": None}})
            await self._say(world, name, "True")

    async def give_up(self, world: World) -> None:
        """Mark a silent Node out of service, and delete its pods."""
        for name in sorted(self._silent):
            taints = [{"key": _OUT_OF_SERVICE, "effect": "NoExecute"}]
            await world.client.patch(Node, name, {"spec": {"taints": taints}})
            await self._remove_pods(world, name)

    async def _remove_pods(self, world: World, node: str) -> None:
        for pod in await world.all(Pod):
            if node_of(pod) == node:
                await world.client.delete_object(pod, grace_period_seconds=0)

    async def remove_node(self, world: World) -> None:
        """Delete a Node, after or before its pods."""
        name = world.dice.choice(NODES)
        if world.dice.random() < 0.5:
            await self._remove_pods(world, name)
        await world.client.delete(Node, name)
        await self._remove_pods(world, name)

    async def replace_node(self, world: World) -> None:
        name = world.dice.choice(NODES)
        if name in {name_of(node) for node in await world.client.list(Node)}:
            await self._remove_pods(world, name)
            await world.client.delete(Node, name)
        await self._make_node(world, name)

    # Pods

    async def make_pod(self, world: World) -> None:
        await self.create_pod(world, f"p{world.dice.randrange(PODS)}")

    async def create_pod(self, world: World, name: str) -> None:
        numbers = world.dice.sample(range(len(VOLUMES)), world.dice.choice([0, 1, 1, 2]))
        volumes = [{"name": f"v{number}", "persistentVolumeClaim": {"claimName": f"c{number}"}} for number in numbers]
        spec = {"nodeName": world.dice.choice(NODES), "containers": [{"name": "c", "image": "i"}], "volumes": volumes}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        await world.client.create(body, namespace=NAMESPACE)

    async def end_pod(self, world: World) -> None:
        pod = await world.any(Pod)
        if pod is not None:
            await world.set_ready(pod, ready=False, phase="Succeeded")

    # What must be so

    async def wrong(self, world: World) -> str:
        if self._torn:
            return f"{sorted(self._torn)} were asked for on several Nodes at once, or are on one that is given up"
        nodes = {name_of(node): node for node in await world.client.list(Node)}
        desired = {
            (f"v{number}", node_of(pod))
            for pod in await world.all(Pod)
            if not is_finished(pod) and node_of(pod) in nodes
            for number in _numbers(pod)
            if VOLUMES[number][0] != "plain"
        }
        attachments_by_place = {(attached.spec.source.persistentVolumeName, attached.spec.nodeName): attached
                 for attached in await world.client.list(VolumeAttachment)}  # fmt: skip
        for place, attachment in attachments_by_place.items():
            fault = self._wrong_attachment(attachment, is_wanted=place in desired)
            if fault == "is of no use" and _is_given_up(nodes.get(place[1])):
                since = self._useless.setdefault(uid_of(attachment), world.clock.monotonic())
                self._torn |= {place[0]} if world.clock.monotonic() - since > REST_SECONDS else set()
            if fault:
                return f"the attachment of {place} {fault}"
        for place in desired - set(attachments_by_place):
            others = [other for other in attachments_by_place if other[0] == place[0]]
            if _is_shared(place[0]) or not others:
                return f"{place} is wanted, and not attached"
        for name, node in nodes.items():
            reported = {volume.name for volume in node.status.volumesAttached or ()}
            held = {_unique(int(place[0][1:])) for place in attachments_by_place if place[1] == name}
            if reported != held:
                return f"{name} is told {reported} and has {held}"
        return ""

    def _wrong_attachment(self, attachment: VolumeAttachment, *, is_wanted: bool) -> str:
        if metadata_field(attachment, "deletionTimestamp"):
            return "is still there"
        if not (attachment.status and attachment.status.attached):
            return "was not made"
        return "" if is_wanted else "is of no use"


def _numbers(pod: Pod) -> list[int]:
    claims = [volume.persistentVolumeClaim for volume in pod.spec.volumes or ()]
    return [int(claim.claimName[1:]) for claim in claims if claim is not None]


def _is_given_up(node: Node | None) -> bool:
    return node is not None and any(taint.key == _OUT_OF_SERVICE for taint in node.spec.taints or ())


def _unique(number: int) -> str:
    return f"kubernetes.io/csi/{VOLUMES[number][0]}^h{number}"


def _is_shared(volume: str) -> bool:
    return VOLUMES[int(volume[1:])][1] == "ReadWriteMany"
