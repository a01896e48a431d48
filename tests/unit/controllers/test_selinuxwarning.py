import msgspec
import pytest
from lightkube.models.core_v1 import PersistentVolume, Pod, SELinuxOptions

from steersman.controllers.selinuxwarning.controller import build
from steersman.controllers.selinuxwarning.plan import (
    Conflict,
    MountedClaim,
    Use,
    Uses,
    differ,
    label_of,
    mounted,
    use_of,
    volume_id,
)

ONE, TWO = "::t:s0:c1,c2", "::t:s0:c8,c9"
VOLUME = ("d.com", "h")
MOUNTS = [{"name": "v", "mountPath": "/v"}]
EVENTS = ("SELinuxLabelConflict", "SELinuxChangePolicyConflict", "MultipleSELinuxLabels")
METRIC = "selinux_warning_controller_selinux_volume_conflict"


def options(label):
    user, role, type_, level = label.split(":", 3)
    named = {"user": user, "role": role, "type": type_, "level": level}
    return {key: value for key, value in named.items() if value}


def container(label="", *, mounts=MOUNTS, privileged=None):
    context = {"privileged": privileged} | ({"seLinuxOptions": options(label)} if label else {})
    return {"name": "c", "image": "i", "volumeMounts": mounts, "securityContext": context}


def spec_of(label="", policy=None, *, containers=None, claim="c"):
    context = {"seLinuxChangePolicy": policy} | ({"seLinuxOptions": options(label)} if label else {})
    return {
        "containers": containers or [container()],
        "securityContext": {key: value for key, value in context.items() if value},
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}, {"name": "x", "emptyDir": {}}],
    }


def pod(*args, **more):
    return msgspec.convert({"metadata": {"name": "p"}, "spec": spec_of(*args, **more)}, Pod)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (None, ""),
        ({}, ""),
        ({"level": "s0:c1"}, ":::s0:c1"),
        ({"user": "u", "role": "r", "type": "t", "level": "s0"}, "u:r:t:s0"),
    ],
)
def test_label_of_returns_the_specified_parts(text, label):
    assert label_of(None if text is None else msgspec.convert(text, SELinuxOptions)) == label


@pytest.mark.parametrize(
    ("one", "other", "different"),
    [
        ("u:r:t:s0:c1", "u:r:t:s0:c1", False),
        ("u:r:t:s0:c1", ":::s0:c1", False),
        ("u:r:t:s0:c1", ":::s0:c2", True),
        ("u:::", "v:::", True),
        ("u:::", ":::s0", False),
        ("", "u:r:t:s0", False),
    ],
)
def test_unspecified_label_parts_never_differ(one, other, different):
    assert differ(one, other) is different
    assert differ(other, one) is different


@pytest.mark.parametrize(
    ("obj", "labels"),
    [
        (pod(), set()),
        (pod(ONE), {ONE}),
        (pod(ONE, containers=[container(TWO)]), {TWO}),
        (pod(ONE, containers=[container(), container(TWO)]), {ONE, TWO}),
        (pod(ONE, containers=[container(privileged=True)]), set()),
        (pod(ONE, containers=[container(), container(TWO, privileged=True)]), {ONE}),
    ],
)
def test_mounted_has_the_labels_of_mounting_containers(obj, labels):
    assert mounted(obj) == {"c": MountedClaim("v", labels)}


@pytest.mark.parametrize("mounts", [[], [{"name": "x", "mountPath": "/x"}]])
def test_mounted_ignores_unmounted_and_other_volumes(mounts):
    assert mounted(pod(ONE, containers=[container(mounts=mounts)])) == {}


@pytest.mark.parametrize(
    ("policy", "label", "can", "expected"),
    [
        (None, ONE, True, Use(ONE, "MountOption", "d.com")),
        ("MountOption", ONE, True, Use(ONE, "MountOption", "d.com")),
        ("Recursive", ONE, True, Use("", "Recursive", "d.com")),
        (None, "", True, Use("", "Recursive", "d.com")),
        (None, ONE, False, Use("", "Recursive", "d.com")),
    ],
)
def test_use_of_has_a_label_when_pod_and_driver_support_it(policy, label, can, expected):
    assert use_of(pod(label, policy), label, driver="d.com", mounts_labels=can) == expected


def test_volume_id_is_driver_and_handle():
    csi = {"driver": "d.com", "volumeHandle": "h"}
    assert volume_id(msgspec.convert({"spec": {"csi": csi}}, PersistentVolume)) == VOLUME
    assert volume_id(msgspec.convert({"spec": {"nfs": {"server": "s", "path": "/"}}}, PersistentVolume)) is None


def mount(label=ONE, policy="MountOption"):
    return {VOLUME: Use(label, policy, "d.com")}


def test_put_reports_a_conflict_once_to_both_pods():
    uses = Uses()
    assert uses.put("n/a", mount(ONE)) == []
    assert uses.put("n/b", mount(TWO)) == [
        Conflict("SELinuxLabel", "n/b", TWO, "n/a", ONE),
        Conflict("SELinuxLabel", "n/a", ONE, "n/b", TWO),
    ]
    assert uses.put("n/b", mount(TWO)) == []
    assert len(list(uses.conflicts())) == 2


def test_different_change_policies_conflict():
    uses = Uses()
    uses.put("n/a", mount())
    properties = [item.property_name for item in uses.put("n/b", mount("", "Recursive"))]
    assert properties == ["SELinuxChangePolicy"] * 2


def test_dropped_use_does_not_conflict():
    uses = Uses()
    uses.put("n/a", mount(ONE))
    uses.put("n/b", mount(TWO))
    assert sorted(uses.pods_of("d.com")) == ["n/a", "n/b"]
    uses.put("n/a", {})
    assert list(uses.conflicts()) == []
    uses.drop("n/b")
    uses.drop("n/b")
    assert uses.pods_of("d.com") == []


SAME = "the same volume as this pod with"
END = "If both pods land on the same node, only one of them may access the volume."


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            "n/b",
            f'SELinuxLabel "x" conflicts with pod b that uses {SAME} SELinuxLabel "y". {END}',
        ),
        (
            "m/b",
            f'SELinuxLabel "x" conflicts with another pod that uses {SAME} a different SELinuxLabel. {END}',
        ),
    ],
)
def test_message_does_not_name_pods_of_another_namespace(other, message):
    conflict = Conflict("SELinuxLabel", "n/a", "x", other, "y")
    assert (conflict.reason, conflict.message) == ("SELinuxLabelConflict", message)


# The controller


@pytest.fixture
async def shared_volume(cluster):
    """A volume of a driver that mounts with labels, bound to a claim."""
    modes, resources = ["ReadWriteMany"], {"requests": {"storage": "1Gi"}}
    await cluster.make("storage.k8s.io/v1", "CSIDriver", "d.com", spec={"seLinuxMount": True})
    claim = await cluster.make(
        "v1",
        "PersistentVolumeClaim",
        "c",
        namespace="default",
        spec={"accessModes": modes, "resources": resources, "volumeName": "pv", "storageClassName": ""},
    )
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "c",
        "uid": claim["metadata"]["uid"],
    }
    await cluster.make(
        "v1",
        "PersistentVolume",
        "pv",
        spec={
            "csi": {"driver": "d.com", "volumeHandle": "h"},
            "accessModes": modes,
            "capacity": {"storage": "1Gi"},
            "claimRef": reference,
        },
    )


async def messages(cluster):
    events = [event for reason in EVENTS for event in await cluster.events(reason)]
    return sorted((event["involvedObject"]["name"], event["reason"], event["type"]) for event in events)


def metric(controller):
    registry = controller.context.metrics.registry
    return [sample.labels for family in registry.collect() if family.name == METRIC for sample in family.samples]


@pytest.mark.usefixtures("shared_volume")
async def test_conflicting_pods_get_warning_events(cluster):
    controller = await cluster.start(build)
    for name, label in (("a", ONE), ("b", TWO), ("same", TWO)):
        await cluster.make("v1", "Pod", name, namespace="default", spec=spec_of(label))
    await cluster.until(lambda: len(metric(controller)) == 4)
    received = await cluster.until(lambda: messages(cluster))
    assert {row[1:] for row in received} == {("SELinuxLabelConflict", "Normal")}
    labels = {(row["pod1_name"], row["pod1_value"], row["pod2_name"], row["pod2_value"]) for row in metric(controller)}
    assert labels == {("a", ONE, "b", TWO), ("b", TWO, "a", ONE), ("a", ONE, "same", TWO), ("same", TWO, "a", ONE)}
    await cluster.client.delete_object(await cluster.find("v1", "Pod", "a", namespace="default"))
    await cluster.until(lambda: metric(controller) == [])


@pytest.mark.usefixtures("shared_volume")
async def test_driver_without_selinux_mount_removes_conflicts(cluster):
    controller = await cluster.start(build)
    await cluster.make("v1", "Pod", "a", namespace="default", spec=spec_of(ONE))
    await cluster.make("v1", "Pod", "b", namespace="default", spec=spec_of(TWO, "Recursive"))
    await cluster.until(lambda: len(metric(controller)) == 2)
    assert {row["property"] for row in metric(controller)} == {"SELinuxChangePolicy"}
    await cluster.client.delete_object(await cluster.find("storage.k8s.io/v1", "CSIDriver", "d.com"))
    await cluster.until(lambda: metric(controller) == [])


@pytest.mark.usefixtures("shared_volume")
async def test_different_labels_within_a_pod_are_reported(cluster):
    await cluster.start(build)
    containers = [container(ONE), {**container(TWO), "name": "other"}]
    await cluster.make("v1", "Pod", "a", namespace="default", spec=spec_of(containers=containers))
    await cluster.until(lambda: messages(cluster))
    (event,) = await cluster.events("MultipleSELinuxLabels")
    assert event["message"] == 'Volume "v" is mounted twice with different SELinux labels inside this pod'
    assert event["type"] == "Warning"


async def test_pod_is_enqueued_when_its_claim_is_bound(cluster):
    controller = await cluster.start(build)
    for name, label in (("a", ONE), ("b", TWO)):
        await cluster.make("v1", "Pod", name, namespace="default", spec=spec_of(label))
    assert metric(controller) == []
    modes = ["ReadWriteMany"]
    await cluster.make("storage.k8s.io/v1", "CSIDriver", "d.com", spec={"seLinuxMount": True})
    spec = {"accessModes": modes, "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    claim = await cluster.make("v1", "PersistentVolumeClaim", "c", namespace="default", spec=spec)
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c", "uid": claim["metadata"]["uid"]}
    volume = {"csi": {"driver": "d.com", "volumeHandle": "h"}, "accessModes": modes, "capacity": {"storage": "1Gi"}}
    await cluster.make("v1", "PersistentVolume", "pv", spec=volume | {"claimRef": reference})
    await cluster.client.update({**claim, "spec": {**claim["spec"], "volumeName": "pv"}})
    await cluster.until(lambda: len(metric(controller)) == 2)
