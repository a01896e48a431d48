"""ReplicationControllers and ReplicaSets against a server."""

from __future__ import annotations

import pytest
from lightkube.models.core_v1 import Pod, ReplicationController

from steersman.client import tree
from steersman.client.objects import name_of, uid_of
from steersman.controllers.replication import replicaset, replicationcontroller
from steersman.runtime.expectations import TIMEOUT_SECONDS


@pytest.fixture
def spec(pod_spec):
    def make(replicas, **more):
        template = {"metadata": {"labels": {"app": "x"}}, "spec": pod_spec}
        return {"replicas": replicas, "selector": {"app": "x"}, "template": template, **more}

    return make


@pytest.fixture
async def controller(cluster):
    return await cluster.start(replicationcontroller.build)


@pytest.fixture
def settled(cluster):
    async def wait(**counts):
        """Return the object once its status satisfies the condition."""

        def matches(obj):
            status = (obj or {}).get("status", {})
            return all(status.get(name, 0) == count for name, count in counts.items())

        return await cluster.eventually("v1", "ReplicationController", "rc", matches, namespace="default")

    return wait


async def pods(cluster):
    return await cluster.client.list(Pod, namespace="default")


async def make(cluster, spec, **more):
    return await cluster.make("v1", "ReplicationController", "rc", namespace="default", spec=spec, **more)


async def scale(cluster, replicas):
    await cluster.client.patch(ReplicationController, "rc", {"spec": {"replicas": replicas}}, namespace="default")


async def add_pod(cluster, pod_spec, name, **metadata):
    return await cluster.make(
        "v1", "Pod", name, namespace="default", spec=pod_spec, metadata={"labels": {"app": "x"}, **metadata}
    )


async def test_reconcile_creates_and_counts_pods(cluster, controller, spec, settled):
    owner = await make(cluster, spec(3))
    await settled(replicas=3, fullyLabeledReplicas=3, observedGeneration=1)
    (reference,) = {
        (ref.kind, ref.name, ref.uid, ref.controller)
        for pod in await pods(cluster)
        for ref in pod.metadata.ownerReferences
    }
    assert reference == ("ReplicationController", "rc", owner["metadata"]["uid"], True)
    assert {name_of(pod)[:3] for pod in await pods(cluster)} == {"rc-"}


async def test_reconcile_deletes_surplus_pods(cluster, controller, spec, settled):
    await make(cluster, spec(3))
    await settled(replicas=3)
    await scale(cluster, 1)
    await settled(replicas=1, observedGeneration=2)
    assert len(await pods(cluster)) == 1


async def test_reconcile_records_events_of_creates_and_deletes(cluster, controller, spec, settled):
    await make(cluster, spec(1))
    await settled(replicas=1)
    await scale(cluster, 0)
    await settled(replicas=0, observedGeneration=2)
    (created,) = await cluster.until(lambda: cluster.events("SuccessfulCreate"))
    (deleted,) = await cluster.until(lambda: cluster.events("SuccessfulDelete"))
    pod = created["message"].removeprefix("Created pod: ")
    assert (deleted["message"], created["source"]) == (f"Deleted pod: {pod}", {"component": "replication-controller"})


async def test_reconcile_adopts_a_matching_orphan(cluster, controller, spec, settled, pod_spec):
    await add_pod(cluster, pod_spec, "orphan")
    await make(cluster, spec(1))
    await settled(replicas=1)
    (only,) = await pods(cluster)
    assert (name_of(only), only.metadata.ownerReferences[0].name) == ("orphan", "rc")


async def test_reconcile_deletes_a_pod_after_a_late_adoption(cluster, controller, spec, settled, pod_spec):
    await make(cluster, spec(1))
    await settled(replicas=1)
    await add_pod(cluster, pod_spec, "orphan")
    await cluster.until(lambda: cluster.events("SuccessfulDelete"))
    assert len(await pods(cluster)) == 1


async def test_reconcile_releases_and_replaces_a_pod_that_no_longer_matches(cluster, controller, spec, settled):
    await make(cluster, spec(1))
    await settled(replicas=1)
    (first,) = await pods(cluster)
    await cluster.client.patch(Pod, name_of(first), {"metadata": {"labels": {"app": "y"}}}, namespace="default")

    async def replaced():
        return len(await pods(cluster)) == 2

    await cluster.until(replaced)
    released = await cluster.client.get(Pod, name_of(first), namespace="default")
    assert not released.metadata.ownerReferences


async def test_reconcile_sets_and_clears_replica_failure(cluster, controller, spec, settled):
    await cluster.make("v1", "ResourceQuota", "none", namespace="default", spec={"hard": {"pods": "0"}},
                       status={"hard": {"pods": "0"}, "used": {"pods": "0"}})  # fmt: skip
    await make(cluster, spec(2))

    def is_reported(obj):
        return [condition["reason"] for condition in obj.get("status", {}).get("conditions", ())] == ["FailedCreate"]

    obj = await cluster.eventually("v1", "ReplicationController", "rc", is_reported, namespace="default")
    assert "exceeded quota" in obj["status"]["conditions"][0]["message"]
    assert await cluster.until(lambda: cluster.events("FailedCreate"))
    await cluster.client.delete(tree("v1", "ResourceQuota"), "none", namespace="default")
    well = await settled(replicas=2)
    assert "conditions" not in well["status"]


async def test_reconcile_stops_creating_after_a_rejection(cluster, controller, spec, settled):
    """One try, not a hundred, while nothing can be created."""
    await cluster.make("v1", "ResourceQuota", "none", namespace="default", spec={"hard": {"pods": "0"}},
                       status={"hard": {"pods": "0"}, "used": {"pods": "0"}})  # fmt: skip
    await make(cluster, spec(100))
    events = await cluster.until(lambda: cluster.events("FailedCreate"))
    assert events[0]["count"] == 1


async def test_available_is_noticed_though_nothing_happens(cluster, controller, spec, settled):
    await make(cluster, spec(1, minReadySeconds=60))
    await settled(replicas=1)
    (pod,) = await pods(cluster)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": cluster.clock.now().replace(microsecond=0)}
    await cluster.client.patch(
        Pod, name_of(pod), {"status": {"conditions": [ready]}}, namespace="default", subresource="status"
    )
    await settled(readyReplicas=1, availableReplicas=0)
    await cluster.clock.advance(61)
    await settled(readyReplicas=1, availableReplicas=1)


async def test_reconcile_of_a_terminating_owner_creates_no_pods(cluster, controller, spec, settled):
    await make(cluster, spec(0), metadata={"finalizers": ["test/held"]})
    await settled(observedGeneration=1)
    await cluster.client.delete(ReplicationController, "rc", namespace="default")
    await scale(cluster, 2)
    await settled(observedGeneration=3)
    assert await pods(cluster) == []


async def test_reconcile_waits_for_unobserved_writes(cluster, controller, spec, settled):
    await make(cluster, spec(1))
    await settled(replicas=1)
    controller.expectations.expect("default/rc", creations=1)
    controller.pod_control._newest.clear()
    await scale(cluster, 3)
    await settled(observedGeneration=2)
    assert len(await pods(cluster)) == 1
    await cluster.clock.advance(TIMEOUT_SECONDS + 6)
    await settled(replicas=3)


async def test_reconcile_continues_after_a_lost_deletion_event(cluster, controller, spec, settled):
    await make(cluster, spec(1))
    await settled(replicas=1)
    controller.expectations.expect("default/rc", deletions=["of a pod that nobody knows"])
    await scale(cluster, 3)
    await settled(replicas=3)


async def test_reconcile_retries_a_conflicting_status_write(cluster, controller, spec, settled):
    await make(cluster, spec(0))
    result = await settled(observedGeneration=1)
    stale = controller.objects.lister.get("rc", namespace="default")
    await cluster.client.patch(ReplicationController, "rc", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
    written = await controller._update_status(stale, stale.status)
    assert written.metadata.resourceVersion != result["metadata"]["resourceVersion"]


async def test_reconcile_writes_no_status_of_a_recreated_object(cluster, controller, spec, settled):
    await make(cluster, spec(0))
    await settled(observedGeneration=1)
    stale = controller.objects.lister.get("rc", namespace="default")
    await cluster.client.delete(ReplicationController, "rc", namespace="default", propagation_policy="Background")
    assert await controller._update_status(stale, stale.status) is None
    await make(cluster, spec(0))
    assert await controller._update_status(stale, stale.status) is None


async def test_replica_sets_count_the_pods_of_their_siblings(cluster, pod_spec):
    """The node with a Pod of a sibling is the crowded one."""
    sets = await cluster.start(replicaset.build)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d-uid", "controller": True}
    for name, replicas in (("one", 2), ("two", 1)):
        labels = {"app": "x", "set": name}
        spec = {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec},
        }
        await cluster.make(
            "apps/v1", "ReplicaSet", name, namespace="default", spec=spec, metadata={"ownerReferences": [owner]}
        )
        await cluster.eventually("apps/v1", "ReplicaSet", name, lambda obj, n=replicas: obj.get("status", {}).get("replicas") == n,
                                 namespace="default")  # fmt: skip
    one = sets.objects.lister.get("one", namespace="default")
    assert {uid_of(pod) for pod in sets.related_pods(one)} == {uid_of(pod) for pod in await pods(cluster)}
    alone = await cluster.make("apps/v1", "ReplicaSet", "alone", namespace="default", spec={**spec, "replicas": 0})
    await cluster.until(lambda: sets.objects.lister.get("alone", namespace="default"))
    assert alone["metadata"]["name"] == "alone"
    assert sets.related_pods(sets.objects.lister.get("alone", namespace="default")) == ()
