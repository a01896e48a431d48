import msgspec
import pytest
from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim
from lightkube.models.storage_v1 import StorageClass

from steersman.client import tree
from steersman.controllers.options import ControllerOptions
from steersman.controllers.persistentvolume.binding import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONERS,
    bound_claim,
    bound_volume,
    claim_in_phase,
    unbound_volume,
    volume_in_phase,
    with_provisioner,
)
from steersman.controllers.persistentvolume.controller import build
from steersman.controllers.persistentvolume.matching import best_volume, default_class, mismatch_reason
from steersman.controllers.persistentvolume.migration import (
    MIGRATED_TO,
    PROVISIONED_BY,
    finalizers_of,
    migrated_claim,
    migrated_volume,
    unprotected_volume,
)
from steersman.controllers.persistentvolume.plan import (
    AssignClass,
    Bind,
    EnqueueClaim,
    InconsistentBinding,
    Lost,
    Mismatch,
    Provision,
    SetPhase,
    Unbind,
    Wait,
    plan_claim,
    plan_volume,
    reclaim,
)
from steersman.controllers.persistentvolume.recycling import RecyclerSettings, read_template, recycler_pod

CLAIM = ("v1", "PersistentVolumeClaim")
VOLUME = ("v1", "PersistentVolume")


def volume(name="v", *, size="1Gi", modes=("ReadWriteOnce",), class_="", ref=None, phase="Available", **more):
    annotations, labels = more.pop("annotations", {}), more.pop("labels", {})
    metadata = {"name": name, "annotations": annotations, "labels": labels, **more.pop("metadata", {})}
    spec = {
        "capacity": {"storage": size},
        "accessModes": list(modes),
        "storageClassName": class_,
        "claimRef": ref,
        **more,
    }
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, PersistentVolume)


def claim(*, size="1Gi", class_="", volume_="", uid="1", annotations=None, phase="Pending", **more):
    metadata = {"name": "c", "namespace": "n", "uid": uid, "annotations": annotations or {}}
    spec = {
        "resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"], "storageClassName": class_,
        "volumeName": volume_ or None, **more,
    }  # fmt: skip
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, PersistentVolumeClaim)


def class_(name, *, mode="Immediate", default=False, created="2026-01-01T00:00:00Z", provisioner="example.com/p"):
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    metadata = {"name": name, "annotations": annotations, "creationTimestamp": created}
    return msgspec.convert({"metadata": metadata, "provisioner": provisioner, "volumeBindingMode": mode}, StorageClass)


def ref(uid="1", name="c"):
    return {"namespace": "n", "name": name, **({"uid": uid} if uid else {})}


DONE = {BIND_COMPLETED: "yes"}
DELAYED = "WaitForFirstConsumer"
IN_TREE_FINALIZER = "kubernetes.io/pv-controller"
EXTERNAL_FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer"


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ([volume("big", size="5Gi"), volume("small", size="2Gi"), volume("tiny", size="1Mi")], "small"),
        ([volume("small"), volume("reserved", size="9Gi", ref=ref(""))], "reserved"),
        ([volume("reserved", modes=("ReadWriteOnce", "ReadOnlyMany"), ref=ref("")), volume("plain")], "plain"),
        ([volume("taken", ref=ref(name="other")), volume("released", phase="Released")], None),
        ([volume("classy", class_="x")], None),
        ([volume("more", modes=("ReadWriteOnce", "ReadOnlyMany")), volume("plain", size="3Gi")], "plain"),
        ([volume("other", modes=("ReadOnlyMany",))], None),
        ([volume("block", volumeMode="Block")], None),
        ([volume("going", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})], None),
    ],
)
def test_best_volume_is_the_smallest_match(volumes, expected):
    result = best_volume(claim(), volumes, delayed=False)
    assert (result.metadata.name if result else None) == expected


def test_best_volume_obeys_selector_and_delayed_binding():
    labelled = volume("l", labels={"a": "1"})
    assert best_volume(claim(selector={"matchLabels": {"a": "1"}}), [volume(), labelled], delayed=False) is labelled
    assert best_volume(claim(), [volume()], delayed=True) is None
    assert best_volume(claim(), [volume(ref=ref())], delayed=True) is not None


@pytest.mark.parametrize(
    ("obj", "reason"),
    [
        (volume(), ""),
        (volume(size="1Mi"), "requested PV is too small"),
        (volume(class_="x"), "storageClassName does not match"),
        (volume(volumeMode="Block"), "incompatible volumeMode"),
        (volume(modes=("ReadOnlyMany",)), "incompatible accessMode"),
        (volume(volumeAttributesClassName="x"), "VolumeAttributesClassName does not match"),
    ],
)
def test_mismatch_reason(obj, reason):
    assert mismatch_reason(obj, claim()) == reason


def test_default_class_is_the_newest():
    classes = [class_("b", default=True), class_("a", default=True), class_("c", created="2026-02-01T00:00:00Z")]
    assert default_class(classes).metadata.name == "a"
    assert default_class([class_("c")]) is None


@pytest.mark.parametrize(
    ("obj", "volumes", "kind"),
    [
        (claim(), [volume()], Bind),
        (claim(), [], Wait),
        (claim(volume_="v"), [volume(size="1Mi")], Wait),
        (claim(volume_="v"), [volume()], Bind),
        (claim(volume_="v"), [], Wait),
        (claim(volume_="v"), [volume(ref=ref(name="other"))], Wait),
        (
            claim(volume_="v", annotations={BOUND_BY_CONTROLLER: "yes"}),
            [volume(ref=ref(name="other"))],
            InconsistentBinding,
        ),
        (claim(annotations=DONE), [], Lost),
        (claim(volume_="v", annotations=DONE), [], Lost),
        (claim(volume_="v", annotations=DONE), [volume(ref=ref("2"))], Lost),
        (claim(volume_="v", annotations=DONE), [volume(ref=ref())], Bind),
        (claim(class_="slow"), [], Provision),
        (claim(class_="none"), [], Wait),
        (claim(class_="late"), [], Wait),
        (claim(class_=None), [], AssignClass),
    ],
)
def test_plan_claim(obj, volumes, kind):
    classes = {"slow": class_("slow", default=True), "late": class_("late", mode="WaitForFirstConsumer")}
    plan = plan_claim(obj, {volume.metadata.name: volume for volume in volumes}, classes)
    assert type(plan) is kind


def test_delayed_claim_has_an_event_for_its_wait():
    classes = {"late": class_("late", mode="WaitForFirstConsumer")}
    assert plan_claim(claim(class_="late"), {}, classes).event.reason == "WaitForFirstConsumer"
    waiting = plan_claim(claim(class_="late"), {}, classes, waiting_pods=["a", "b"])
    assert waiting.event.message == "waiting for pods a,b to be scheduled"
    chosen = claim(class_="late", annotations={"volume.kubernetes.io/selected-node": "n"})
    assert type(plan_claim(chosen, {}, classes)) is Provision


def test_migrated_provisioners_use_csi_driver_names():
    classes = {
        "x": class_("x", provisioner="kubernetes.io/aws-ebs"),
        "y": class_("y", provisioner="kubernetes.io/no-provisioner"),
    }
    assert plan_claim(claim(class_="x"), {}, classes).provisioner == "ebs.csi.aws.com"
    assert plan_claim(claim(class_="y"), {}, classes).event.reason == "ProvisioningFailed"


@pytest.mark.parametrize(
    ("obj", "of", "expected"),
    [
        (volume(), None, SetPhase("Available")),
        (volume(ref=ref("")), None, SetPhase("Available")),
        (volume(ref=ref()), None, SetPhase("Released", reclaim=True)),
        (volume(ref=ref(), phase="Failed"), None, SetPhase(None, reclaim=True)),
        (volume(ref=ref()), claim(), EnqueueClaim()),
        (volume(ref=ref()), claim(volume_="v"), SetPhase("Bound")),
        (volume(ref=ref()), claim(volume_="other"), Unbind()),
        (
            volume(
                ref=ref(), annotations={"pv.kubernetes.io/provisioned-by": "x"}, persistentVolumeReclaimPolicy="Delete"
            ),
            claim(volume_="other"),
            SetPhase("Released", reclaim=True),
        ),
    ],
)
def test_plan_volume(obj, of, expected):
    assert plan_volume(obj, of) == expected


def test_volume_mode_mismatch_has_events():
    assert type(plan_volume(volume(ref=ref(), volumeMode="Block"), claim())) is Mismatch


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (volume(persistentVolumeReclaimPolicy="Retain"), "retain"),
        (volume(persistentVolumeReclaimPolicy="Recycle"), "fail"),
        (volume(persistentVolumeReclaimPolicy="Recycle", hostPath={"path": "/x"}), "recycle"),
        (volume(persistentVolumeReclaimPolicy="Delete", hostPath={"path": "/tmp/x"}), "delete"),
        (volume(persistentVolumeReclaimPolicy="Delete", hostPath={"path": "/data"}), "fail"),
        (volume(persistentVolumeReclaimPolicy="Delete"), "fail"),
        (
            volume(persistentVolumeReclaimPolicy="Delete", annotations={"pv.kubernetes.io/provisioned-by": "x.csi"}),
            "leave",
        ),
        (volume(persistentVolumeReclaimPolicy="Odd"), "fail"),
    ],
)
def test_reclaim(obj, expected):
    assert reclaim(obj)[0] == expected


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({"nfs": {"server": "s", "path": "/"}}, "no deletable volume plugin matched"),
        ({"csi": {"driver": "d", "volumeHandle": "h"}}, "no volume plugin matched"),
    ],
)
def test_reclaim_reports_missing_deleter_plugin(source, reason):
    _, event = reclaim(volume(persistentVolumeReclaimPolicy="Delete", **source))
    assert event.message == f'error getting deleter volume plugin for volume "v": {reason}'


@pytest.mark.parametrize(
    ("provisioner", "message"),
    [
        ("nfs", "no deletable volume plugin matched"),
        ("odd", "no volume plugin matched name: kubernetes.io/odd"),
        ("host-path", 'failed to create deleter for volume "v": spec.PersistentVolumeSource.HostPath is nil'),
    ],
)
def test_reclaim_deletes_by_the_plugin_that_provisioned_the_volume(provisioner, message):
    annotations = {PROVISIONED_BY: f"kubernetes.io/{provisioner}"}
    action, event = reclaim(volume(persistentVolumeReclaimPolicy="Delete", annotations=annotations))
    assert (action, event.message) == ("fail", message)


@pytest.mark.parametrize(
    ("provisioner", "reason", "message"),
    [
        ("nfs", Wait, "no provisionable volume plugin matched"),
        ("odd", Wait, "no volume plugin matched name: kubernetes.io/odd"),
        (
            "host-path",
            Provision,
            'Failed to create provisioner: provisioning in volume plugin "kubernetes.io/host-path" is disabled',
        ),
    ],
)
def test_in_tree_plugins_do_not_provision(provisioner, reason, message):
    classes = {"x": class_("x", provisioner=f"kubernetes.io/{provisioner}")}
    plan = plan_claim(claim(class_="x"), {}, classes)
    assert (type(plan), plan.event.reason, plan.event.message) == (reason, "ProvisioningFailed", message)


def test_objects_of_replaced_plugins_name_the_csi_driver():
    old = volume(
        annotations={PROVISIONED_BY: "kubernetes.io/gce-pd"}, metadata={"finalizers": [IN_TREE_FINALIZER, "a/b"]}
    )
    new = migrated_volume(old)
    assert new.metadata.annotations[MIGRATED_TO] == "pd.csi.storage.gke.io"
    assert finalizers_of(new) == ["a/b"]
    assert migrated_volume(new) is new
    assert reclaim(new) == ("leave", None)
    going = migrated_claim(claim(annotations={PROVISIONERS[1]: "kubernetes.io/aws-ebs"}))
    assert going.metadata.annotations[MIGRATED_TO] == "ebs.csi.aws.com"
    back = migrated_claim(claim(annotations={PROVISIONERS[0]: "ebs.csi.aws.com", MIGRATED_TO: "x"}))
    assert MIGRATED_TO not in back.metadata.annotations
    for unchanged in (claim(), claim(annotations={PROVISIONERS[0]: "e.com/p"})):
        assert migrated_claim(unchanged) is unchanged


@pytest.mark.parametrize(
    ("provisioner", "policy", "metadata", "expected"),
    [
        ("kubernetes.io/host-path", "Delete", {"finalizers": ["a/b", EXTERNAL_FINALIZER]}, ["a/b", IN_TREE_FINALIZER]),
        ("kubernetes.io/host-path", "Retain", {"finalizers": [IN_TREE_FINALIZER]}, []),
        ("kubernetes.io/host-path", "Delete", {"deletionTimestamp": "2026-01-01T00:00:00Z"}, []),
        ("e.com/p", "Delete", {"finalizers": [EXTERNAL_FINALIZER]}, [EXTERNAL_FINALIZER]),
        (None, "Delete", {}, []),
    ],
)
def test_volumes_of_in_tree_plugins_have_a_deletion_finalizer(provisioner, policy, metadata, expected):
    annotations = {PROVISIONED_BY: provisioner} if provisioner else {}
    obj = volume(persistentVolumeReclaimPolicy=policy, annotations=annotations, metadata=metadata)
    new = migrated_volume(obj)
    assert finalizers_of(new) == expected
    assert migrated_volume(new) is new
    assert IN_TREE_FINALIZER not in finalizers_of(unprotected_volume(new))


def test_bound_objects_have_the_bound_by_controller_annotation():
    bound = bound_volume(volume(), claim())
    assert bound.spec.claimRef.uid == "1"
    assert BOUND_BY_CONTROLLER in bound.metadata.annotations
    assert bound_volume(bound, claim()) is bound
    prebound = bound_volume(volume(ref=ref("")), claim())
    assert prebound.spec.claimRef.uid == "1"
    assert BOUND_BY_CONTROLLER not in prebound.metadata.annotations
    done = bound_claim(claim(), bound)
    assert (done.spec.volumeName, set(done.metadata.annotations)) == ("v", {BOUND_BY_CONTROLLER, BIND_COMPLETED})
    assert set(bound_claim(claim(volume_="v"), bound).metadata.annotations) == {BIND_COMPLETED}


def test_unbound_volume_keeps_a_users_claim_ref():
    assert unbound_volume(bound_volume(volume(), claim())).spec.claimRef is None
    claim_ref = unbound_volume(volume(ref=ref())).spec.claimRef
    assert (claim_ref.name, claim_ref.uid) == ("c", None)


def test_phases_in_effect_are_not_written():
    assert volume_in_phase(volume(), "Available") is None
    assert volume_in_phase(volume(), "Failed", "reason").status.message == "reason"
    bound = claim_in_phase(claim(), "Bound", volume(size="7Gi"))
    assert (bound.status.phase, bound.status.capacity) == ("Bound", {"storage": "7Gi"})
    assert claim_in_phase(bound, "Bound", volume(size="9Gi")) is None
    assert claim_in_phase(bound, "Lost", None).status.capacity is None


def test_with_provisioner_annotates_the_claim():
    requested = with_provisioner(claim(), "x")
    assert [requested.metadata.annotations[name] for name in PROVISIONERS] == ["x", "x"]
    assert with_provisioner(requested, "x") is requested


def test_recycler_pod_mounts_the_volume():
    assert recycler_pod(volume(hostPath={"path": "/x"})).spec.volumes[0].hostPath.path == "/x"
    assert recycler_pod(volume(nfs={"path": "/x", "server": "s"})).spec.volumes[0].nfs.server == "s"


@pytest.mark.parametrize(
    ("source", "size", "seconds"),
    [
        ("hostPath", "1Gi", 60),
        ("hostPath", "5Gi", 150),
        ("nfs", "1Gi", 300),
        ("nfs", "20Gi", 600),
        ("nfs", "500Mi", 300),
    ],
)
def test_recycler_deadline_grows_with_capacity(source, size, seconds):
    of = {"path": "/x"} if source == "hostPath" else {"path": "/x", "server": "s"}
    assert recycler_pod(volume(size=size, **{source: of})).spec.activeDeadlineSeconds == seconds


def test_recycler_settings_come_from_the_options(tmp_path):
    path = tmp_path / "pod.yaml"
    path.write_text(
        "metadata: {labels: {a: b}}\n"
        "spec: {volumes: [{name: data}, {name: more}], containers: [{name: mine, image: i}]}\n"
    )
    settings = RecyclerSettings.of(
        ControllerOptions(
            pv_recycler_minimum_timeout_hostpath=5,
            pv_recycler_timeout_increment_hostpath=7,
            pv_recycler_minimum_timeout_nfs=11,
            pv_recycler_increment_timeout_nfs=13,
            pv_recycler_pod_template_filepath_hostpath=str(path),
        )
    )
    pod = recycler_pod(volume(size="2Gi", hostPath={"path": "/x"}), settings)
    assert (pod.metadata.name, pod.metadata.namespace, pod.metadata.labels) == ("recycler-for-v", "default", {"a": "b"})
    assert [(volume.name, volume.hostPath and volume.hostPath.path) for volume in pod.spec.volumes] == [
        ("data", "/x"), ("more", None),
    ]  # fmt: skip
    assert (pod.spec.containers[0].name, pod.spec.activeDeadlineSeconds) == ("mine", 14)
    nfs = recycler_pod(volume(size="2Gi", nfs={"path": "/x", "server": "s"}), settings)
    assert (nfs.spec.containers[0].name, nfs.spec.activeDeadlineSeconds) == ("recycler", 26)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("spec: {containers: []}", "does not contain any volume"),
        ("spec: 1", "Expected `object | null`"),
        ("{", "while parsing"),
    ],
)
def test_invalid_recycler_template_is_rejected(text, reason, tmp_path):
    path = tmp_path / "pod.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"recycler pod template {path}: ") as refused:
        read_template(str(path))
    assert reason in str(refused.value)


async def test_claims_and_volumes_are_resynced_after_the_sync_period(cluster, resyncs):
    await cluster.start(build, pvclaimbinder_sync_period_seconds=7.0)
    await make_volume(cluster, "v")
    await make_claim(cluster)
    [(seconds, keys)] = resyncs
    await cluster.until(lambda: keys() == ["claim:default/c", "volume:v"])
    assert seconds == 7.0


async def make_volume(cluster, name, policy="Retain", **metadata):
    spec = {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/x"},
        "persistentVolumeReclaimPolicy": policy, "storageClassName": "",
    }  # fmt: skip
    await cluster.make(*VOLUME, name, metadata=metadata, spec=spec)


async def make_claim(cluster, name="c"):
    spec = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    return await cluster.make(*CLAIM, name, namespace="default", spec=spec)


def phase(expected):
    return lambda obj: obj["status"].get("phase") == expected


async def delete(cluster, obj):
    await cluster.client.delete_object(obj)
    patch = {"metadata": {"finalizers": None}}
    await cluster.client.patch(tree(*CLAIM), obj["metadata"]["name"], patch, namespace="default")


async def test_pending_claim_is_bound_to_a_new_volume(cluster):
    await cluster.start(build)
    await make_claim(cluster)
    await cluster.until(lambda: cluster.events("FailedBinding"))
    await make_volume(cluster, "v")
    await cluster.eventually(*CLAIM, "c", phase("Bound"), namespace="default", within_seconds=2)
    await cluster.eventually(*VOLUME, "v", phase("Bound"))


@pytest.mark.parametrize(("policy", "is_deleted"), [("Retain", False), ("Delete", True)])
async def test_released_volume_is_retained_or_deleted(cluster, policy, is_deleted):
    await cluster.start(build)
    await make_volume(cluster, "v", policy)
    claim = await make_claim(cluster)
    await cluster.eventually(*VOLUME, "v", phase("Bound"))
    await delete(cluster, claim)

    def is_going(obj):
        return obj is None or "deletionTimestamp" in obj["metadata"]

    await cluster.eventually(*VOLUME, "v", is_going if is_deleted else phase("Released"))


async def test_conflicting_deletion_is_retried(cluster, conflicts):
    await cluster.start(build)
    await make_volume(cluster, "v", "Delete")
    claim = await make_claim(cluster)
    await cluster.eventually(*VOLUME, "v", phase("Bound"))
    for _ in range(4):  # more often than the volume has events
        conflicts.add("DELETE", "/persistentvolumes/v")
    await delete(cluster, claim)

    def is_going(obj):
        return obj is None or "deletionTimestamp" in obj["metadata"]

    await cluster.eventually(*VOLUME, "v", is_going, within_seconds=5)


async def test_recycled_volume_is_available(cluster):
    await cluster.start(build)
    await make_volume(cluster, "v", "Recycle")
    claim = await make_claim(cluster)
    await cluster.eventually(*VOLUME, "v", phase("Bound"))
    await delete(cluster, claim)
    await cluster.eventually("v1", "Pod", "recycler-for-v", bool, namespace="default")
    done = {"status": {"phase": "Succeeded"}}
    await cluster.client.patch(tree("v1", "Pod"), "recycler-for-v", done, namespace="default", subresource="status")
    obj = await cluster.eventually(*VOLUME, "v", phase("Available"))
    assert "claimRef" not in obj["spec"]


async def test_two_claims_are_never_bound_to_one_volume(cluster):
    await cluster.start(build)
    await make_volume(cluster, "v")
    await make_claim(cluster, "c")
    await make_claim(cluster, "d")
    await cluster.eventually(*VOLUME, "v", phase("Bound"))
    await cluster.clock.advance(5)
    phases = [(await cluster.find(*CLAIM, name, namespace="default"))["status"]["phase"] for name in ("c", "d")]
    assert sorted(phases) == ["Bound", "Pending"]


async def test_claim_without_its_volume_is_lost(cluster):
    await cluster.start(build)
    await make_volume(cluster, "v")
    await make_claim(cluster)
    await cluster.eventually(*CLAIM, "c", phase("Bound"), namespace="default")
    await cluster.client.delete(tree(*VOLUME), "v")
    await cluster.client.patch(tree(*VOLUME), "v", {"metadata": {"finalizers": None}})
    await cluster.eventually(*CLAIM, "c", phase("Lost"), namespace="default")
    await cluster.until(lambda: cluster.events("ClaimLost"))


async def make_pod(cluster, name, volume, status=None):
    container = {"name": "c", "image": "i"}
    pod = await cluster.make(
        "v1", "Pod", name, namespace="default", spec={"containers": [container], "volumes": [volume]}
    )
    if status is not None:
        await cluster.client.patch(
            tree("v1", "Pod"), name, {"status": status}, namespace="default", subresource="status"
        )
    return pod


async def test_delayed_claim_waits_for_pods_with_ephemeral_volumes_that_are_not_finished(cluster):
    await cluster.make("storage.k8s.io/v1", "StorageClass", "late", provisioner="e.com/p", volumeBindingMode=DELAYED)
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "late"}
    await make_pod(cluster, "p", {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}})
    await make_pod(cluster, "done", {"name": "v", "persistentVolumeClaim": {"claimName": "p-v"}}, {"phase": "Failed"})
    await cluster.start(build)
    await cluster.make(*CLAIM, "p-v", namespace="default", spec=spec)
    await cluster.until(lambda: cluster.events("WaitForPodScheduled"))
    events = await cluster.events("WaitForPodScheduled")
    assert [event["message"] for event in events] == ["waiting for pod p to be scheduled"]


async def test_volume_of_a_deleted_claim_is_not_recycled_while_pods_use_it(cluster):
    await make_pod(cluster, "p", {"name": "v", "persistentVolumeClaim": {"claimName": "c"}})
    await cluster.start(build)
    await make_volume(cluster, "v", "Recycle")
    claim = await make_claim(cluster)
    await cluster.eventually(*VOLUME, "v", phase("Bound"))
    await delete(cluster, claim)
    await cluster.until(lambda: cluster.events("VolumeFailedRecycle"))
    events = await cluster.events("VolumeFailedRecycle")
    assert events[0]["message"] == "Volume is used by pods: default/p"
    assert await cluster.find("v1", "Pod", "recycler-for-v", namespace="default") is None


async def test_volume_that_an_in_tree_plugin_provisioned_is_deleted_with_its_claim(cluster):
    await cluster.start(build)
    await make_volume(cluster, "v", "Delete", annotations={PROVISIONED_BY: "kubernetes.io/host-path"})
    claim = await make_claim(cluster)
    await cluster.eventually(*VOLUME, "v", phase("Bound"))
    await cluster.eventually(*VOLUME, "v", lambda obj: IN_TREE_FINALIZER in obj["metadata"]["finalizers"])
    await delete(cluster, claim)

    def is_going(obj):
        return obj is None or ("deletionTimestamp" in obj["metadata"] and is_unprotected(obj))

    def is_unprotected(obj):
        return IN_TREE_FINALIZER not in obj["metadata"].get("finalizers", ())

    await cluster.eventually(*VOLUME, "v", is_going)
