import msgspec
import pytest
from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod

from steersman.apiserver.kinds.shared.podspec import defaults as pod_defaults
from steersman.client import tree
from steersman.controllers.protection import attributes_classes, claims, pod_groups, volumes
from steersman.controllers.protection.plan import (
    CLAIM_FINALIZER,
    CLASS_FINALIZER,
    GROUP_FINALIZER,
    VOLUME_FINALIZER,
    Step,
    classes_named,
    groups_used,
    is_volume_used,
    step,
    uses_claim,
)

CLAIM = ("v1", "PersistentVolumeClaim")
VOLUME = ("v1", "PersistentVolume")
CLASS = ("storage.k8s.io/v1", "VolumeAttributesClass")
GROUP = ("scheduling.k8s.io/v1alpha2", "PodGroup")
CLAIM_SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
VOLUME_SPEC = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/tmp/x"}}


def pod(*, node="n", phase="Running", volumes_=({"name": "v", "persistentVolumeClaim": {"claimName": "c"}},)):
    spec = {"containers": [], "nodeName": node, "volumes": list(volumes_)}
    metadata = {"name": "p", "namespace": "n", "uid": "1"}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, Pod)


def claim(name="c", *, owner=""):
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}
    metadata = {"name": name, "namespace": "n", **({"ownerReferences": [reference]} if owner else {})}
    return msgspec.convert({"metadata": metadata}, PersistentVolumeClaim)


EPHEMERAL = ({"name": "v", "ephemeral": {}},)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, Step.ADD),
        ({"finalizers": ["f"]}, Step.NOTHING),
        ({"finalizers": ["f"], "deletionTimestamp": "x"}, Step.RELEASE),
        ({"deletionTimestamp": "x"}, Step.NOTHING),
    ],
)
def test_step(metadata, expected):
    assert step({"metadata": metadata}, "f") is expected


@pytest.mark.parametrize(
    ("obj", "of", "expected"),
    [
        (pod(), claim(), True),
        (pod(phase="Succeeded"), claim(), True),
        (pod(node=""), claim(), False),
        (pod(), claim("other"), False),
        (pod(volumes_=EPHEMERAL), claim("p-v", owner="1"), True),
        (pod(volumes_=EPHEMERAL, phase="Succeeded"), claim("p-v", owner="1"), False),
        (pod(volumes_=EPHEMERAL), claim("p-v", owner="2"), False),
    ],
)
def test_uses_claim_of_scheduled_pods(obj, of, expected):
    assert uses_claim(obj, of) is expected


def test_classes_named():
    status = {
        "currentVolumeAttributesClassName": "b",
        "modifyVolumeStatus": {"status": "x", "targetVolumeAttributesClassName": "c"},
    }
    converted = msgspec.convert({"spec": {"volumeAttributesClassName": "a"}, "status": status}, PersistentVolumeClaim)
    assert classes_named(converted) == ["a", "b", "c"]


def test_bound_volume_is_in_use():
    assert is_volume_used(msgspec.convert({"status": {"phase": "Bound"}}, PersistentVolume))
    assert not is_volume_used(msgspec.convert({"status": {"phase": "Released"}}, PersistentVolume))


async def test_claim_is_kept_while_a_pod_uses_it(cluster, pod_spec):
    await cluster.start(claims.build)
    await cluster.make(*CLAIM, "c", namespace="default", spec=CLAIM_SPEC)
    has = lambda obj: CLAIM_FINALIZER in obj["metadata"].get("finalizers", ())  # noqa: E731 — short
    obj = await cluster.eventually(*CLAIM, "c", has, namespace="default")
    mount = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    await cluster.make("v1", "Pod", "p", namespace="default", spec={**pod_spec, "nodeName": "n", "volumes": mount})
    await cluster.client.delete_object(obj)
    await cluster.clock.advance(5)
    assert await cluster.find(*CLAIM, "c", namespace="default")
    await cluster.client.delete(tree("v1", "Pod"), "p", namespace="default", grace_period_seconds=0)
    await cluster.eventually(*CLAIM, "c", lambda obj: obj is None, namespace="default")


async def test_volume_is_kept_while_bound(cluster):
    await cluster.start(volumes.build)
    await cluster.make(*VOLUME, "v", spec=VOLUME_SPEC)
    has = lambda obj: VOLUME_FINALIZER in obj["metadata"].get("finalizers", ())  # noqa: E731 — short
    obj = await cluster.eventually(*VOLUME, "v", has)
    bound = await cluster.client.update_status({**obj, "status": {"phase": "Bound"}})
    await cluster.client.delete_object(bound)
    await cluster.clock.advance(5)
    held = await cluster.find(*VOLUME, "v")
    await cluster.client.update_status({**held, "status": {"phase": "Released"}})
    await cluster.eventually(*VOLUME, "v", lambda obj: obj is None)


async def test_class_is_kept_while_a_claim_names_it(cluster):
    await cluster.start(attributes_classes.build)
    await cluster.make(*CLASS, "a", driverName="x.example.com", parameters={"k": "v"})
    has = lambda obj: CLASS_FINALIZER in obj["metadata"].get("finalizers", ())  # noqa: E731 — short
    obj = await cluster.eventually(*CLASS, "a", has)
    spec = {**CLAIM_SPEC, "volumeAttributesClassName": "a"}
    wanting = await cluster.make(*CLAIM, "c", namespace="default", spec=spec)
    await cluster.clock.advance(1)
    await cluster.client.delete_object(obj)
    await cluster.clock.advance(5)
    assert await cluster.find(*CLASS, "a")
    await cluster.client.delete_object(wanting)
    await cluster.client.patch(tree(*CLAIM), "c", {"metadata": {"finalizers": None}}, namespace="default")
    await cluster.eventually(*CLASS, "a", lambda obj: obj is None)


@pytest.mark.parametrize(
    ("spec", "phase", "groups"),
    [
        ({}, "Running", []),
        ({"schedulingGroup": {}}, "Running", []),
        ({"schedulingGroup": {"podGroupName": "g"}}, "Running", ["n/g"]),
        ({"schedulingGroup": {"podGroupName": "g"}}, "Succeeded", []),
    ],
)
def test_groups_used_by_unfinished_pods(spec, phase, groups):
    body = {"metadata": {"namespace": "n"}, "spec": {"containers": [], **spec}, "status": {"phase": phase}}
    assert groups_used(msgspec.convert(body, Pod)) == groups


@pytest.fixture
def protected_groups(monkeypatch):
    """Keep the pods' group reference, which the server drops without the feature gate."""
    monkeypatch.setattr(pod_defaults, "drop_disabled", lambda spec: None)


@pytest.mark.usefixtures("protected_groups")
async def test_group_is_kept_until_its_last_pod_has_finished(cluster, pod_spec):
    await cluster.define(pod_groups.GROUPS)
    await cluster.start(pod_groups.build)
    for name in ("g", "unused"):
        metadata = {"finalizers": [GROUP_FINALIZER]}
        created = await cluster.make(*GROUP, name, namespace="default", metadata=metadata, spec={})
        if name == "g":
            spec = {**pod_spec, "schedulingGroup": {"podGroupName": "g"}}
            await cluster.make("v1", "Pod", "p", namespace="default", spec=spec)
            await cluster.clock.advance(1)
        await cluster.client.delete_object(created)

    async def remaining():
        return [group.metadata.name for group in await cluster.client.list(pod_groups.GROUPS)]

    async def one_remains():
        return await remaining() == ["g"]

    await cluster.until(one_remains)
    await cluster.clock.advance(5)
    assert await remaining() == ["g"]
    running = await cluster.find("v1", "Pod", "p", namespace="default")
    await cluster.client.update_status({**running, "status": {**running["status"], "phase": "Succeeded"}})

    async def none_remains():
        return not await remaining()

    await cluster.until(none_remains)
