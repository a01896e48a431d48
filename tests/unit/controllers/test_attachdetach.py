import msgspec
import pytest
from lightkube.models.core_v1 import Node, PersistentVolume, Pod

from steersman.apimachinery.errors import internal_error
from steersman.client import tree
from steersman.controllers.attachdetach.controller import build
from steersman.controllers.attachdetach.plan import (
    FORCE_SECONDS,
    attached_patch,
    attachment_name,
    needs_volumes,
    new_attachment,
    plan_gone,
    plan_node,
)

NAME = attachment_name("h", "d", "n")
UNIQUE = "kubernetes.io/csi/d^h"


def volume(*modes, handle="h"):
    spec = {"csi": {"driver": "d", "volumeHandle": handle}, "accessModes": list(modes or ["ReadWriteOnce"])}
    return msgspec.convert({"metadata": {"name": "v"}, "spec": spec}, PersistentVolume)


def node(*, in_use=(), attached=(), ready="True", taints=(), **annotations):
    rows = [{"name": name, "devicePath": ""} for name in attached]
    status = {"volumesInUse": list(in_use), "volumesAttached": rows, "conditions": [{"type": "Ready", "status": ready}]}
    metadata = {"name": "n", "resourceVersion": "7", "annotations": annotations}
    return msgspec.convert({"metadata": metadata, "spec": {"taints": list(taints)}, "status": status}, Node)


def attachment(*, attached=True):
    result = new_attachment(volume(), "n")
    status = msgspec.convert({"attached": attached}, dict)
    return msgspec.convert({**msgspec.to_builtins(result), "status": status}, type(result))


def planned(target_node, *, desired=(), attachments=(), others=(), waited=0.0):
    return plan_node(
        target_node,
        {item.metadata.name: item for item in desired},
        attachments,
        others={"v": others},
        volumes={"v": volume()},
        waited={NAME: waited},
    )


def test_names_are_upstreams():
    assert len(NAME) == 68
    assert new_attachment(volume(), "n").metadata.name == NAME
    with pytest.raises(ValueError, match="no driver"):
        new_attachment(PersistentVolume(metadata=volume().metadata), "n")


def test_desired_volumes_exclude_terminated_pods():
    ended = msgspec.convert({"status": {"phase": "Failed"}}, Pod)
    assert not needs_volumes(ended, node())
    assert needs_volumes(ended, node(**{"volumes.kubernetes.io/keep-terminated-pod-volumes": "true"}))
    assert needs_volumes(Pod(), None)


def test_plan_attaches_a_desired_volume_once():
    assert [item.metadata.name for item in planned(node(), desired=[volume()]).attach] == [NAME]
    again = planned(node(), desired=[volume()], attachments=[attachment()])
    assert (again.attach, again.detach, again.attached) == ([], [], [UNIQUE])
    waiting = planned(node(), desired=[volume()], attachments=[attachment(attached=False)])
    assert (waiting.attach, waiting.attached) == ([], [])


@pytest.mark.parametrize(("modes", "count"), [(["ReadWriteOnce"], 0), (["ReadWriteMany"], 1), (["ReadOnlyMany"], 1)])
def test_plan_attaches_only_shared_volumes_twice(modes, count):
    plan = planned(node(), desired=[volume(*modes)], others=["m"])
    assert len(plan.attach) == count
    assert plan.elsewhere == ["v"][count:]


@pytest.mark.parametrize(
    ("target_node", "waited", "held"),
    [
        (node(), 0, False),
        (node(in_use=[UNIQUE]), FORCE_SECONDS, True),
        (node(in_use=[UNIQUE], ready="Unknown"), 10, True),
        (node(in_use=[UNIQUE], ready="Unknown"), FORCE_SECONDS, False),
        (node(in_use=[UNIQUE], taints=[{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]), 0, False),
    ],
)
def test_plan_keeps_volumes_in_use(target_node, waited, held):
    plan = planned(target_node, attachments=[attachment()], waited=waited)
    assert [len(plan.held), len(plan.detach), len(plan.attached)] == [held, not held, held]


@pytest.mark.parametrize(
    ("in_use", "waited", "held"),
    [
        ([], 0, False),
        ([UNIQUE], 10, True),
        (None, 10, True),
        ([UNIQUE], FORCE_SECONDS, False),
        (None, FORCE_SECONDS, False),
    ],
)
def test_plan_detaches_from_a_deleted_node_after_a_delay(in_use, waited, held):
    plan = plan_gone([attachment()], in_use=in_use, volumes={"v": volume()}, waited={NAME: waited})
    assert [len(plan.held), len(plan.detach)] == [held, not held]


def test_node_status_lists_attached_volumes():
    target_node = node(attached=["kubernetes.io/csi/d^gone", "other/x"])
    rows = attached_patch(target_node, [UNIQUE])["status"]["volumesAttached"]
    assert [row["name"] for row in rows] == ["other/x", UNIQUE]
    assert attached_patch(node(attached=[UNIQUE]), [UNIQUE]) is None
    assert attached_patch(node(attached=[UNIQUE]), [])["status"] == {"volumesAttached": None}


ATTACHMENT = ("storage.k8s.io/v1", "VolumeAttachment")


async def bound(cluster, *nodes):
    """Create Nodes, and a claim with its volume."""
    managed = {"annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}}
    for name in nodes:
        await cluster.make("v1", "Node", name, metadata=managed)
    modes = {"accessModes": ["ReadWriteOnce"]}
    claim = await cluster.make("v1", "PersistentVolumeClaim", "c", namespace="default", spec={
        **modes, "volumeName": "v", "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}})  # fmt: skip
    reference = {"namespace": "default", "name": "c", "uid": claim["metadata"]["uid"]}
    await cluster.make("v1", "PersistentVolume", "v", spec={
        **modes, "capacity": {"storage": "1Gi"}, "csi": {"driver": "d", "volumeHandle": "h"}, "claimRef": reference})  # fmt: skip


async def using(cluster, pod_spec, name, node):
    volumes = [{"name": "x", "persistentVolumeClaim": {"claimName": "c"}}]
    spec = {**pod_spec, "nodeName": node, "volumes": volumes}
    await cluster.make("v1", "Pod", name, namespace="default", spec=spec)


async def remove(cluster, name):
    await cluster.client.delete(tree("v1", "Pod"), name, namespace="default", grace_period_seconds=0)


async def attached(cluster):
    """Return the Nodes with attachments."""
    return sorted(item["spec"]["nodeName"] for item in await cluster.client.list(tree(*ATTACHMENT)))


def is_attached_to(cluster, *nodes):
    async def is_so():
        return await attached(cluster) == list(nodes)

    return is_so


async def test_volume_is_attached_for_a_pod_and_detached_after_it(cluster, pod_spec):
    await cluster.start(build)
    await bound(cluster, "n")
    await using(cluster, pod_spec, "p", "n")
    obj = await cluster.eventually(*ATTACHMENT, NAME, lambda obj: obj is not None)
    assert obj["spec"] == {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    await cluster.client.update_status({**obj, "status": {"attached": True}})

    def named(*desired):
        return lambda node: [row["name"] for row in node["status"].get("volumesAttached") or ()] == list(desired)

    await cluster.eventually("v1", "Node", "n", named(UNIQUE))
    await cluster.until(lambda: cluster.events("SuccessfulAttachVolume"))
    await remove(cluster, "p")
    await cluster.eventually(*ATTACHMENT, NAME, lambda obj: obj is None)
    await cluster.eventually("v1", "Node", "n", named())


async def test_volumes_of_a_deleted_node_are_detached(cluster, pod_spec):
    await cluster.start(build)
    await bound(cluster, "n", "m")
    await using(cluster, pod_spec, "p", "n")
    await cluster.until(is_attached_to(cluster, "n"))
    await using(cluster, pod_spec, "q", "m")
    await cluster.client.delete(tree("v1", "Node"), "n")
    await cluster.until(is_attached_to(cluster, "m"))


async def test_driver_that_needs_no_attaching_any_more_is_detached(cluster, pod_spec):
    await cluster.start(build)
    await bound(cluster, "n")
    await using(cluster, pod_spec, "p", "n")
    await cluster.until(is_attached_to(cluster, "n"))
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "d"}}
    await cluster.client.create({**driver, "spec": {"attachRequired": False}})
    await cluster.until(is_attached_to(cluster))
    await cluster.client.delete(tree("storage.k8s.io/v1", "CSIDriver"), "d")
    await cluster.until(is_attached_to(cluster, "n"))


class Refusing:
    """A client that can create nothing for Node ``n``."""

    def __init__(self, client):
        self._client = client
        self.request_count = 0

    def __getattr__(self, name):
        return getattr(self._client, name)

    async def create(self, attachment):
        if attachment.spec.nodeName == "n":
            self.request_count += 1
            raise internal_error("not now")
        return await self._client.create(attachment)


async def test_requested_attachment_blocks_other_nodes(cluster, pod_spec):
    controller = await cluster.start(build)
    controller.client = client = Refusing(controller.client)
    await bound(cluster, "n", "m")
    await using(cluster, pod_spec, "p", "n")
    await cluster.until(lambda: client.request_count)
    await using(cluster, pod_spec, "q", "m")
    await cluster.clock.advance(10)
    assert await attached(cluster) == []
    await remove(cluster, "p")
    await cluster.until(is_attached_to(cluster, "m"))
