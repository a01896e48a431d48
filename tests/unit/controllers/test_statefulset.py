"""StatefulSets: the rules as tables, and the controller on a server in this process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from lightkube.models.apps_v1 import StatefulSet, StatefulSetCondition
from lightkube.models.core_v1 import PersistentVolumeClaim, Pod

from steersman.client.objects import name_of
from steersman.client.transport import Response
from steersman.controllers.statefulset import identity
from steersman.controllers.statefulset.controller import build
from steersman.controllers.statefulset.plan import (
    BURST,
    ChangeClaim,
    ChangePod,
    DeletePod,
    MakeClaim,
    MakePod,
    ObservedState,
    ReportController,
    max_unavailable,
    plan,
)
from steersman.controllers.statefulset.status import needs_write, plan_status, seconds_to_requeue
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.runtime.owners import owners_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLAIM = {"metadata": {"name": "data", "labels": {"l": "m"}}, "spec": {"accessModes": ["ReadWriteOnce"]}}
DELETE = {"whenDeleted": "Delete", "whenScaled": "Delete"}
PARALLEL = {"podManagementPolicy": "Parallel"}


def sts(replicas=2, *, status=None, deleted=False, **spec):
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": []}}
    metadata = {"name": "web", "namespace": "ns", "uid": "set", "generation": 4,
                "deletionTimestamp": NOW if deleted else None}  # fmt: skip
    full_spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "x"}}, "template": template,
              "serviceName": "svc", **spec}  # fmt: skip
    return msgspec.convert({"metadata": metadata, "spec": full_spec, "status": status}, StatefulSet)


def pod(ordinal, *, of=None, revision="new", phase="Running", ready=True, age=100, deleted=False):
    of = of or sts()
    pod = identity.new_pod(of, of.spec.template, revision, ordinal)
    since = NOW - timedelta(seconds=age)
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": since}] if ready else []
    status = {"phase": phase, "conditions": conditions}
    metadata = {"name": name_of(pod), "namespace": "ns", "uid": f"pod-{ordinal}", "labels": pod.metadata.labels,
                "creationTimestamp": since, "deletionTimestamp": NOW if deleted else None}  # fmt: skip
    tree = {"metadata": metadata, "spec": msgspec.to_builtins(pod.spec), "status": status}
    return msgspec.convert(tree, Pod)


def claim(name, *owners, deleted=False):
    references = [
        {
            "apiVersion": "apps/v1" if kind == "StatefulSet" else "v1", "kind": kind, "name": of, "uid": uid,
            "controller": kind != "Other",
        }
        for kind, of, uid in owners
    ]  # fmt: skip
    metadata = {"name": name, "namespace": "ns", "ownerReferences": references,
                "deletionTimestamp": NOW if deleted else None}  # fmt: skip
    return msgspec.convert({"metadata": metadata}, PersistentVolumeClaim)


def observe(of, *pods, claims=(), current="new"):
    template = of.spec.template
    claims = {name_of(claim): claim for claim in claims}
    return ObservedState(of, pods, claims.get, current=(current, template), update=("new", template), now=NOW)


def summary(actions):
    return [f"{type(action).__name__} {name_of(action.pod)}" for action in actions]


# Identity


@pytest.mark.parametrize(("name", "ordinal", "ours"), [
    ("web-0", 0, True), ("web-12", 12, True), ("web", -1, False), ("web-x", -1, False), ("other-1", 1, False),
    ("web-1-2", 2, False), ("web-99999999999", -1, True),
])  # fmt: skip
def test_ordinal_of(name, ordinal, ours):
    converted = msgspec.convert({"metadata": {"name": name}}, Pod)
    assert (identity.ordinal_of(converted), identity.belongs_to(converted, sts())) == (ordinal, ours)


def test_new_pod_has_identity_and_storage():
    of = sts(volumeClaimTemplates=[CLAIM])
    pod = identity.new_pod(of, of.spec.template, "web-abc", 1)
    assert (pod.metadata.name, pod.spec.hostname, pod.spec.subdomain) == ("web-1", "web-1", "svc")
    assert pod.metadata.labels == {
        "app": "x", identity.REVISION: "web-abc", identity.POD_NAME: "web-1", identity.POD_INDEX: "1",
    }  # fmt: skip
    assert [(volume.name, volume.persistentVolumeClaim.claimName) for volume in pod.spec.volumes] == [
        ("data", "data-web-1")
    ]
    assert identity.has_storage(pod, of)
    expected = identity.claims_of(of, pod)["data"]
    assert (name_of(expected), expected.metadata.labels) == ("data-web-1", {"l": "m", "app": "x"})


def test_claim_has_all_metadata_of_its_template():
    copied = {"annotations": {"a": "b"}, "finalizers": ["example.com/keep"]}
    of = sts(volumeClaimTemplates=[{"metadata": {"name": "data", **copied}}])
    metadata = msgspec.to_builtins(identity.claims_of(of, pod(0))["data"].metadata)
    assert metadata == {"name": "data-web-0", "namespace": "ns", "labels": {"app": "x"}, **copied}


@pytest.mark.parametrize(
    ("policy", "ordinal", "before", "after"),
    [
        (None, 0, [], []),
        (None, 0, [("StatefulSet", "web", "set")], []),
        ({"whenDeleted": "Delete", "whenScaled": "Retain"}, 0, [], ["set"]),
        ({"whenDeleted": "Delete", "whenScaled": "Retain"}, 5, [], ["set"]),
        ({"whenDeleted": "Retain", "whenScaled": "Delete"}, 0, [], []),
        ({"whenDeleted": "Retain", "whenScaled": "Delete"}, 5, [], ["pod-5"]),
        (DELETE, 0, [("Pod", "web-0", "pod-0")], ["set"]),
        (DELETE, 5, [("StatefulSet", "web", "set"), ("Other", "o", "o")], ["o", "pod-5"]),
        (DELETE, 0, [("StatefulSet", "web", "former")], ["former"]),
        (DELETE, 0, [("Pod", "web-0", "former")], ["former"]),
        (DELETE, 0, [("Controller", "o", "o")], ["o"]),
        (DELETE, 0, [("Controller", "o", "o"), ("StatefulSet", "web", "set")], ["o"]),
        (None, 0, [("Controller", "o", "o"), ("StatefulSet", "web", "set")], ["o"]),
    ],
)
def test_with_owner_sets_references_by_retention_policy(policy, ordinal, before, after):
    of = sts(persistentVolumeClaimRetentionPolicy=policy)
    owned = identity.with_owner(claim("data-web-0", *before), of, pod(ordinal))
    assert [owner.uid for owner in owners_of(owned)] == after
    assert identity.with_owner(owned, of, pod(ordinal)) is owned


@pytest.mark.parametrize(
    ("policy", "owner", "expected"),
    [
        (DELETE, ("Controller", "o", "o"), True),
        (DELETE, ("Other", "o", "o"), False),
        (DELETE, ("StatefulSet", "web", "set"), False),
        (DELETE, ("StatefulSet", "web", "former"), True),
        (DELETE, ("Pod", "web-0", "former"), True),
        ({"whenDeleted": "Retain", "whenScaled": "Delete"}, ("Controller", "o", "o"), True),
        (None, ("Controller", "o", "o"), False),
    ],
)
def test_has_unexpected_controller_if_claims_are_deleted(policy, owner, expected):
    of = sts(persistentVolumeClaimRetentionPolicy=policy)
    assert identity.has_unexpected_controller(claim("data-web-0", owner), of, pod(0)) is expected


# Living Pods


@pytest.mark.parametrize(
    ("of", "pods", "actions"),
    [
        (sts(), [], ["MakePod web-0"]),
        (sts(), [pod(0)], ["MakePod web-1"]),
        (sts(), [pod(0, ready=False)], []),
        (sts(), [pod(0, phase="Pending")], []),
        (sts(minReadySeconds=200), [pod(0)], []),
        (sts(), [pod(0, deleted=True)], []),
        (sts(), [pod(0, phase="Failed"), pod(1)], ["DeletePod web-0"]),
        (sts(), [pod(0, phase="Succeeded"), pod(1)], ["DeletePod web-0"]),
        (sts(), [pod(0), pod(1)], []),
        (sts(**PARALLEL), [], ["MakePod web-0", "MakePod web-1"]),
        (sts(**PARALLEL), [pod(0, ready=False)], ["MakePod web-1"]),
        (sts(ordinals={"start": 5}), [], ["MakePod web-5"]),
        (sts(deleted=True), [], []),
    ],
)
def test_plan_creates_pods_in_order(of, pods, actions):
    assert summary(plan(observe(of, *pods))) == actions


MOST = 2**31 - 1
SURGING = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}}}


@pytest.mark.parametrize(
    ("of", "pods", "actions"),
    [
        (sts(MOST), [], ["MakePod web-0"]),
        (sts(MOST), [pod(0), pod(1)], ["MakePod web-2"]),
        (sts(MOST, **PARALLEL), [pod(1)], ["MakePod web-0", *(f"MakePod web-{n}" for n in range(2, BURST + 1))]),
        (
            sts(MOST, **PARALLEL, **SURGING),
            [pod(0, revision="old"), pod(1, revision="old")],
            [*(f"MakePod web-{n}" for n in range(2, BURST + 2)), "DeletePod web-1", "DeletePod web-0"],
        ),
    ],
)
def test_plan_creates_a_bounded_number_of_pods(of, pods, actions):
    assert summary(plan(observe(of, *pods))) == actions


@pytest.mark.parametrize(
    ("of", "pods", "actions"),
    [
        (sts(1), [pod(0), pod(1), pod(2)], ["DeletePod web-2"]),
        (sts(1), [pod(0), pod(1), pod(2, deleted=True)], []),
        (sts(1), [pod(0), pod(1), pod(2, ready=False)], ["DeletePod web-2"]),
        (sts(1), [pod(0), pod(1, ready=False), pod(2, ready=False)], []),
        (sts(1), [pod(0), pod(1, ready=False), pod(2)], ["DeletePod web-2"]),
        (sts(1, minReadySeconds=50), [pod(0), pod(1, age=5)], ["DeletePod web-1"]),
        (sts(1, minReadySeconds=50), [pod(0), pod(1, age=5), pod(2, age=5)], []),
        (sts(1, **PARALLEL), [pod(0), pod(1), pod(2)], ["DeletePod web-2", "DeletePod web-1"]),
        (sts(2, ordinals={"start": 1}), [pod(0), pod(1), pod(2)], ["DeletePod web-0"]),
    ],
)
def test_plan_deletes_condemned_pods_from_the_highest(of, pods, actions):
    assert summary(plan(observe(of, *pods))) == actions


OLD = {"revision": "old"}


@pytest.mark.parametrize(
    ("of", "pods", "actions"),
    [
        (sts(), [pod(0, **OLD), pod(1, **OLD)], ["DeletePod web-1"]),
        (sts(), [pod(0, **OLD), pod(1)], ["DeletePod web-0"]),
        (sts(updateStrategy={"type": "OnDelete"}), [pod(0, **OLD), pod(1)], []),
        (sts(updateStrategy={"rollingUpdate": {"partition": 1}}), [pod(0, **OLD), pod(1)], []),
        (sts(updateStrategy={"rollingUpdate": {"maxUnavailable": 2}}), [pod(0, **OLD), pod(1, **OLD)],
         ["DeletePod web-1", "DeletePod web-0"]),
        (sts(**PARALLEL), [pod(0, **OLD), pod(1, ready=False)], []),
        (sts(**PARALLEL), [pod(0, **OLD), pod(1, ready=False, **OLD)], ["DeletePod web-1"]),
        (sts(**PARALLEL), [pod(0, **OLD), pod(1, deleted=True, **OLD)], []),
        (sts(**PARALLEL), [pod(0, ready=False), pod(1, **OLD)], ["DeletePod web-1"]),
        (sts(**PARALLEL), [pod(0, deleted=True, **OLD), pod(1, **OLD)], ["DeletePod web-1"]),
        (sts(minReadySeconds=200, **PARALLEL), [pod(0, **OLD), pod(1)], []),
        (sts(updateStrategy={"rollingUpdate": {"maxUnavailable": 1}}, **PARALLEL),
         [pod(0, ready=False), pod(1, **OLD)], []),
    ],
)  # fmt: skip
def test_plan_updates_from_the_highest(of, pods, actions):
    assert summary(plan(observe(of, *pods, current="old"))) == actions


@pytest.mark.parametrize(("requested", "expected"), [(3, 3), ("30%", 3), ("1%", 1), (0, 1)])
def test_max_unavailable(requested, expected):
    assert max_unavailable(requested, 10) == expected


@pytest.mark.parametrize(("partition", "revision"), [(0, "new"), (1, "old")])
def test_pods_below_the_partition_keep_the_current_revision(partition, revision):
    of = sts(updateStrategy={"rollingUpdate": {"partition": partition}})
    (action,) = plan(observe(of, current="old"))
    assert identity.revision_of(action.pod) == revision


def test_plan_restores_identity_labels():
    spoiled = pod(0)
    del spoiled.metadata.labels[identity.POD_NAME]
    (action,) = plan(observe(sts(1), spoiled))
    assert isinstance(action, ChangePod)
    assert identity.has_identity(action.pod)


# Claims


WITH_CLAIM = {"volumeClaimTemplates": [CLAIM]}


def test_plan_creates_claims_before_their_pod():
    (action,) = plan(observe(sts(1, **WITH_CLAIM, persistentVolumeClaimRetentionPolicy=DELETE)))
    assert isinstance(action, MakePod)
    assert [name_of(claim.claim) for claim in action.claims] == ["data-web-0"]
    assert [owner.uid for owner in owners_of(action.claims[0].claim)] == ["set"]


def test_plan_uses_existing_claims():
    (action,) = plan(observe(sts(1, **WITH_CLAIM), claims=[claim("data-web-0")]))
    assert (action.claims, action.claim_errors) == ((), ())


def test_pod_waits_for_a_terminating_claim():
    (action,) = plan(observe(sts(1, **WITH_CLAIM), claims=[claim("data-web-0", deleted=True)]))
    assert action.claim_errors == ("pvc data-web-0 is being deleted",)
    of = sts(1, **WITH_CLAIM, persistentVolumeClaimRetentionPolicy=DELETE)
    assert plan(observe(of, claims=[claim("data-web-0", ("Pod", "web-0", "before"))])) == []


def test_plan_creates_missing_claims_of_a_pending_pod():
    of = sts(1, **WITH_CLAIM)
    assert [type(item) for item in plan(observe(of, pod(0, of=of, phase="Pending")))] == [MakeClaim]


@pytest.mark.parametrize(
    ("present", "kinds"),
    [
        ({"phase": "Pending", "ready": False}, ["ChangeClaim"]),
        ({"ready": False}, []),
        ({}, ["ChangeClaim", "ChangePod"]),
    ],
)
def test_plan_changes_owners_of_claims_of_pending_and_available_pods(present, kinds):
    of = sts(1, **WITH_CLAIM, persistentVolumeClaimRetentionPolicy=DELETE)
    actions = plan(observe(of, pod(0, of=of, **present), claims=[claim("data-web-0")]))
    assert [type(action).__name__ for action in actions] == kinds


@pytest.mark.parametrize(
    ("pods", "reports"), [([], True), ([{"phase": "Pending"}], True), ([{}], False), ([{"ready": False}], False)]
)
def test_plan_reports_another_controller_of_a_claim(pods, reports):
    of = sts(1, **WITH_CLAIM, persistentVolumeClaimRetentionPolicy=DELETE)
    actions = plan(
        observe(
            of, *(pod(0, of=of, **present) for present in pods), claims=[claim("data-web-0", ("Controller", "o", "o"))]
        )
    )
    assert [type(action) for action in actions if not isinstance(action, MakePod)] == [ReportController] * reports


def test_condemned_pods_own_their_claims_before_deletion():
    of = sts(0, **WITH_CLAIM, persistentVolumeClaimRetentionPolicy=DELETE)
    change, delete = plan(observe(of, pod(0, of=of), claims=[claim("data-web-0", ("StatefulSet", "web", "set"))]))
    assert isinstance(change, ChangeClaim)
    assert [owner.uid for owner in owners_of(change.claim)] == ["pod-0"]
    assert isinstance(delete, DeletePod)


# Status


def test_pods_are_counted():
    world = observe(sts(3), pod(0, **OLD), pod(1, ready=False), pod(2, deleted=True), current="old")
    status = plan_status(world, collisions=2)
    assert (status.replicas, status.readyReplicas, status.availableReplicas) == (3, 2, 2)
    assert (status.currentReplicas, status.updatedReplicas) == (1, 1)
    assert (status.currentRevision, status.updateRevision) == ("old", "new")
    assert (status.collisionCount, status.observedGeneration) == (2, 4)


def test_status_drops_conditions_of_other_clients():
    of = sts(1, status={"replicas": 1, "conditions": [{"type": "A", "status": "True"}]})
    assert plan_status(observe(of, pod(0)), collisions=0).conditions is None


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({}, False),
        ({"conditions": [StatefulSetCondition(type="A", status="True")]}, False),
        ({"collisionCount": 3}, False),
        ({"readyReplicas": 1}, True),
        ({"currentRevision": "x"}, True),
        ({"observedGeneration": 1}, True),
        ({"observedGeneration": 9}, False),
    ],
)
def test_status_is_written_when_counts_revisions_or_generation_differ(changes, needed):
    status = plan_status(observe(sts(1), pod(0, ready=False)), collisions=0)
    assert needs_write(msgspec.structs.replace(status, **changes), status) is needed


@pytest.mark.parametrize(
    ("of", "pods", "current"),
    [
        (sts(2), [pod(0), pod(1)], "new"),
        (sts(2), [pod(0), pod(1, ready=False)], "old"),
        (sts(3), [pod(0), pod(1)], "old"),
        (sts(2, updateStrategy={"type": "OnDelete"}), [pod(0), pod(1)], "old"),
    ],
)
def test_update_revision_becomes_current_when_complete(of, pods, current):
    assert plan_status(observe(of, *pods, current="old"), collisions=0).currentRevision == current


def test_seconds_to_requeue_is_the_next_availability():
    assert seconds_to_requeue(observe(sts(minReadySeconds=130), pod(0), pod(1, age=20))) == 30
    assert seconds_to_requeue(observe(sts(), pod(0))) is None


# On a server


async def run(cluster, **spec):
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    expected = {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "serviceName": "svc", "template": template}
    await cluster.make("apps/v1", "StatefulSet", "web", namespace="default", spec={**expected, **spec})
    return await cluster.start(build)


async def set_ready(cluster, name):
    now = cluster.clock.now().replace(microsecond=0)
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": now}]
    patch = {"status": {"phase": "Running", "conditions": conditions}}
    await cluster.client.patch(Pod, name, patch, namespace="default", subresource="status")


def have(cluster, expected):
    async def so():
        return sorted(map(name_of, await cluster.client.list(Pod, namespace="default"))) == expected

    return so


async def test_pods_are_created_one_by_one_with_claims(cluster, clock):
    storage = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    await run(cluster, volumeClaimTemplates=[{"metadata": {"name": "data"}, **storage}])
    await cluster.until(have(cluster, ["web-0"]))
    await clock.advance(5)
    await cluster.until(have(cluster, ["web-0"]))
    await set_ready(cluster, "web-0")
    await cluster.until(have(cluster, ["web-0", "web-1"]))
    claims = await cluster.client.list(PersistentVolumeClaim, namespace="default")
    assert sorted(map(name_of, claims)) == ["data-web-0", "data-web-1"]
    summary = await cluster.until(lambda: cluster.events("SuccessfulCreate"))
    assert "Create Claim data-web-0 Pod web-0 in StatefulSet web success" in [item["message"] for item in summary]


async def test_update_recreates_all_pods(cluster):
    await run(cluster, podManagementPolicy="Parallel")
    await cluster.until(have(cluster, ["web-0", "web-1"]))
    patch = {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}}
    await cluster.client.patch(StatefulSet, "web", patch, namespace="default")

    async def updated():
        for pod in await cluster.client.list(Pod, namespace="default"):
            await set_ready(cluster, name_of(pod))
        stateful_set = await cluster.client.get(StatefulSet, "web", namespace="default")
        status = stateful_set.status
        return (status.observedGeneration, status.updatedReplicas, status.currentReplicas) == (2, 2, 2)

    await cluster.until(updated)
    pods = await cluster.client.list(Pod, namespace="default")
    assert [pod.metadata.labels["v"] for pod in pods] == ["2", "2"]


async def test_conflicting_deletion_is_reported_and_retried(cluster, conflicts):
    await run(cluster, podManagementPolicy="Parallel")
    await cluster.until(have(cluster, ["web-0", "web-1"]))
    conflicts.add("DELETE", "/pods/web-1")
    await cluster.client.patch(StatefulSet, "web", {"spec": {"replicas": 1}}, namespace="default")
    await cluster.until(have(cluster, ["web-0"]))
    await cluster.until(lambda: cluster.events("FailedDelete"))


async def test_foreign_pod_with_the_name_blocks_the_ordinal(cluster, clock, pod_spec):
    await cluster.make("v1", "Pod", "web-0", namespace="default", spec=pod_spec)
    await run(cluster, replicas=1)
    await clock.advance(5)
    foreign_pod = await cluster.client.get(Pod, "web-0", namespace="default")
    assert foreign_pod.metadata.ownerReferences is None
    await cluster.client.delete(Pod, "web-0", namespace="default")

    async def ours():
        return (
            (await cluster.find("v1", "Pod", "web-0", namespace="default") or {})
            .get("metadata", {})
            .get("ownerReferences")
        )

    await cluster.until(ours, within_seconds=2)


async def test_owned_pod_with_another_name_is_released(cluster, pod_spec):
    await run(cluster, replicas=0)
    owner = await cluster.client.get(StatefulSet, "web", namespace="default")
    reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": owner.metadata.uid,
                 "controller": True}  # fmt: skip
    metadata = {"labels": {"app": "x"}, "ownerReferences": [reference]}
    await cluster.make("v1", "Pod", "other-0", namespace="default", metadata=metadata, spec=pod_spec)

    async def released():
        pod = await cluster.client.get(Pod, "other-0", namespace="default")
        return not pod.metadata.ownerReferences

    await cluster.until(released)


async def test_claim_of_another_controller_is_kept_and_reported(cluster):
    storage = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "o", "controller": True}
    await cluster.make(
        "v1", "PersistentVolumeClaim", "data-web-0", namespace="default", metadata={"ownerReferences": [other]},
        **storage,
    )  # fmt: skip
    templates = [{"metadata": {"name": "data"}, **storage}]
    await run(cluster, volumeClaimTemplates=templates, persistentVolumeClaimRetentionPolicy=DELETE)
    (event,) = await cluster.until(lambda: cluster.events("ConflictingController"))
    assert event["message"] == (
        "PersistentVolumeClaim data-web-0 has a conflicting OwnerReference that acts as a manging controller, "
        "the retention policy is ignored for this claim"
    )
    existing = await cluster.client.get(PersistentVolumeClaim, "data-web-0", namespace="default")
    assert [owner.uid for owner in existing.metadata.ownerReferences] == ["o"]


async def test_failed_update_of_a_claim_is_recorded_for_its_pod(cluster, monkeypatch):
    storage = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    await cluster.make("v1", "PersistentVolumeClaim", "data-web-0", namespace="default", **storage)
    send = LoopbackTransport.request

    async def request(self, request):
        if request.method == "PUT" and request.path.endswith("/persistentvolumeclaims/data-web-0"):
            return Response(403, {"content-type": "application/json"}, b'{"kind": "Status", "message": "no"}')
        return await send(self, request)

    monkeypatch.setattr(LoopbackTransport, "request", request)
    templates = [{"metadata": {"name": "data"}, **storage}]
    await run(cluster, volumeClaimTemplates=templates, persistentVolumeClaimRetentionPolicy=DELETE)
    (event,) = await cluster.until(lambda: cluster.events("FailedUpdate"))
    assert event["message"] == (
        "Update Pod web-0 in StatefulSet web failed error: "
        "could not update claim data-web-0 for delete policy ownerRefs: no"
    )


async def test_failed_claim_records_events_for_claim_and_pod(cluster):
    await cluster.make(
        "v1", "ResourceQuota", "none", namespace="default", spec={"hard": {"persistentvolumeclaims": "0"}},
        status={"hard": {"persistentvolumeclaims": "0"}, "used": {"persistentvolumeclaims": "0"}},
    )  # fmt: skip
    storage = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    templates = [{"metadata": {"name": name}, **storage} for name in ("data", "log")]
    await run(cluster, volumeClaimTemplates=templates)

    async def summary():
        return {
            event["message"].partition(" failed error: ")[0]: event for event in await cluster.events("FailedCreate")
        }

    await cluster.until(summary)
    await cluster.clock.advance(1)
    messages = await summary()
    assert set(messages) == {
        "Create Claim data-web-0 for Pod web-0 in StatefulSet web",
        "Create Claim log-web-0 for Pod web-0 in StatefulSet web",
        "Create Pod web-0 in StatefulSet web",
    }
    of_pod = messages["Create Pod web-0 in StatefulSet web"]["message"]
    assert "failed error: [failed to create PVC data-web-0: persistentvolumeclaims" in of_pod
    assert ", failed to create PVC log-web-0: persistentvolumeclaims" in of_pod
