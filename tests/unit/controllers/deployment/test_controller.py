"""Deployments against a server."""

from __future__ import annotations

import pytest
from lightkube.models.apps_v1 import Deployment, ReplicaSet
from lightkube.models.core_v1 import Pod

from steersman.client import tree
from steersman.client.objects import name_of
from steersman.controllers.deployment import controller as deployments
from steersman.controllers.deployment.revisions import DESIRED_REPLICAS, REVISION
from steersman.controllers.replication import replicaset


@pytest.fixture
def spec(pod_spec):
    def make(replicas=2, *, version="1", **more):
        labels = {"app": "x", "v": version}
        selector = {"matchLabels": {"app": "x"}}
        return {
            "replicas": replicas,
            "selector": selector,
            "template": {"metadata": {"labels": labels}, "spec": pod_spec},
            **more,
        }

    return make


@pytest.fixture
async def running(cluster):
    await cluster.start(replicaset.build)
    return await cluster.start(deployments.build)


@pytest.fixture
def messages(cluster):
    async def wait(matches):
        """Return the Deployment once its status has the values."""
        return await cluster.eventually(
            "apps/v1", "Deployment", "d", lambda obj: obj and matches(obj.get("status", {})), namespace="default"
        )

    return wait


def reason(status, type_="Progressing"):
    return next((c["reason"] for c in status.get("conditions", ()) if c["type"] == type_), None)


async def make(cluster, spec, **more):
    return await cluster.make("apps/v1", "Deployment", "d", namespace="default", spec=spec, **more)


async def change(cluster, **spec):
    await cluster.client.patch(Deployment, "d", {"spec": spec}, namespace="default")


async def set_version(cluster, version):
    await change(cluster, template={"metadata": {"labels": {"v": version}}})


async def sets(cluster):
    return {
        rs.spec.template.metadata.labels["v"]: rs for rs in await cluster.client.list(ReplicaSet, namespace="default")
    }


async def make_ready(cluster):
    for pod in await cluster.client.list(Pod, namespace="default"):
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": cluster.clock.now().replace(microsecond=0)}
        status = {"status": {"phase": "Running", "conditions": [ready]}}
        await cluster.client.patch(Pod, name_of(pod), status, namespace="default", subresource="status")


async def rolled_out(cluster, messages, generation):
    async def step():
        await make_ready(cluster)
        result = await cluster.find("apps/v1", "Deployment", "d", namespace="default")
        status = result.get("status", {})
        return status.get("observedGeneration") == generation and reason(status) == "NewReplicaSetAvailable"

    await cluster.until(step)


async def test_reconcile_rolls_out_a_template_and_keeps_the_old_set(cluster, running, spec, messages):
    await make(cluster, spec(2))
    await rolled_out(cluster, messages, 1)
    await set_version(cluster, "2")
    await rolled_out(cluster, messages, 2)
    result = await sets(cluster)
    assert {version: rs.spec.replicas for version, rs in result.items()} == {"1": 0, "2": 2}
    assert result["2"].metadata.annotations[REVISION] == "2"
    deployment = await messages(lambda _: True)
    assert deployment["metadata"]["annotations"] == {REVISION: "2"}
    assert {pod.metadata.labels["v"] for pod in await cluster.client.list(Pod, namespace="default")} == {"2"}


async def test_reconcile_records_scaling_events(cluster, running, spec, messages):
    await make(cluster, spec(2))
    await messages(lambda status: status.get("replicas") == 2)
    await change(cluster, replicas=3)
    await messages(lambda status: status.get("replicas") == 3)
    (name,) = [name_of(rs) for rs in (await sets(cluster)).values()]

    async def both():
        return sorted(event["message"] for event in await cluster.events("ScalingReplicaSet")) == [
            f"Scaled up replica set {name} from 0 to 2",
            f"Scaled up replica set {name} from 2 to 3",
        ]

    await cluster.until(both)


async def test_recreating_waits_for_the_last_old_pod(cluster, running, spec, messages):
    await make(cluster, spec(1, strategy={"type": "Recreate"}))
    await rolled_out(cluster, messages, 1)
    (pod,) = await cluster.client.list(Pod, namespace="default")
    await cluster.client.patch(Pod, name_of(pod), {"metadata": {"finalizers": ["test/held"]}}, namespace="default")
    await set_version(cluster, "2")
    await messages(lambda status: status.get("observedGeneration") == 2 and not status.get("replicas"))
    await cluster.clock.advance(30)
    assert set(await sets(cluster)) == {"1"}
    await cluster.client.patch(Pod, name_of(pod), {"metadata": {"finalizers": None}}, namespace="default")
    await rolled_out(cluster, messages, 2)
    assert (await sets(cluster))["2"].spec.replicas == 1


async def test_reconcile_reports_a_rollout_beyond_its_deadline(cluster, running, spec, messages):
    await make(cluster, spec(1, progressDeadlineSeconds=30))
    await messages(lambda status: reason(status) == "ReplicaSetUpdated")
    await cluster.clock.advance(29)
    assert reason((await messages(lambda _: True))["status"]) == "ReplicaSetUpdated"
    await cluster.clock.advance(4)
    await messages(lambda status: reason(status) == "ProgressDeadlineExceeded")
    await rolled_out(cluster, messages, 1)


async def test_reconcile_increments_the_collision_count_for_a_name_in_use(cluster, running, spec, messages):
    await make(cluster, spec(0))
    await messages(lambda status: reason(status) == "NewReplicaSetAvailable")
    (only,) = (await sets(cluster)).values()
    patch = {"metadata": {"labels": {"app": "foreign"}}}
    await cluster.client.patch(ReplicaSet, name_of(only), patch, namespace="default")
    await messages(lambda status: status.get("collisionCount") == 1)

    async def another():
        return len(await cluster.client.list(ReplicaSet, namespace="default")) == 2

    await cluster.until(another)
    released = await cluster.client.get(ReplicaSet, name_of(only), namespace="default")
    assert not released.metadata.ownerReferences


async def test_reconcile_does_not_count_an_uncached_own_set_as_collision(cluster, running, spec, messages):
    await make(cluster, spec(0))
    await messages(lambda status: reason(status) == "NewReplicaSetAvailable")
    (only,) = (await sets(cluster)).values()
    result = running.deployments.lister.get("d", namespace="default")
    assert await running._is_ours(result, only)


async def test_reconcile_reports_a_rejected_set(cluster, running, spec, messages):
    await cluster.make("v1", "ResourceQuota", "none", namespace="default", spec={"hard": {"count/replicasets.apps": "0"}},
                       status={"hard": {"count/replicasets.apps": "0"}, "used": {"count/replicasets.apps": "0"}})  # fmt: skip
    await make(cluster, spec(1))
    result = await messages(lambda status: reason(status) == "ReplicaSetCreateError")
    (message,) = [c["message"] for c in result["status"]["conditions"]]
    assert message.startswith('Failed to create new replica set "d-')
    assert "exceeded quota" in message
    assert await cluster.until(lambda: cluster.events("ReplicaSetCreateError"))
    await cluster.client.delete(tree("v1", "ResourceQuota"), "none", namespace="default")
    await messages(lambda status: status.get("replicas") == 1)


async def test_reconcile_deletes_history_beyond_the_limit(cluster, running, spec, messages):
    await make(cluster, spec(0, revisionHistoryLimit=1))
    for generation, version in enumerate("1234", start=1):
        await set_version(cluster, version)
        await messages(
            lambda status, g=generation: (
                status.get("observedGeneration") == g and reason(status) == "NewReplicaSetAvailable"
            )
        )

    async def two():
        return set(await sets(cluster)) == {"3", "4"}

    await cluster.until(two)


async def test_reconcile_rolls_back_to_the_last_revision_by_annotation(cluster, running, spec, messages):
    await make(cluster, spec(0))
    for generation, version in enumerate("12", start=1):
        await set_version(cluster, version)
        await messages(
            lambda status, g=generation: (
                status.get("observedGeneration") == g and reason(status) == "NewReplicaSetAvailable"
            )
        )
    annotations = {"annotations": {"deprecated.deployment.rollback.to": "0"}}
    await cluster.client.patch(Deployment, "d", {"metadata": annotations}, namespace="default")

    async def rolled_back():
        result = await sets(cluster)
        return result["1"].metadata.annotations[REVISION] == "3"

    await cluster.until(rolled_back)
    deployment = await messages(lambda _: True)
    assert deployment["spec"]["template"]["metadata"]["labels"]["v"] == "1"
    assert "deprecated.deployment.rollback.to" not in deployment["metadata"]["annotations"]
    assert await cluster.until(lambda: cluster.events("DeploymentRollback"))


async def test_reconcile_adopts_a_matching_set(cluster, running, spec, messages, pod_spec):
    labels = {"app": "x", "v": "1"}
    one = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod_spec},
    }
    await cluster.make("apps/v1", "ReplicaSet", "mine", namespace="default", spec=one, metadata={"labels": labels})
    await make(cluster, spec(2))
    await messages(lambda status: status.get("replicas") == 2)
    (adopted,) = (await sets(cluster)).values()
    assert (name_of(adopted), adopted.metadata.ownerReferences[0].name, adopted.metadata.annotations[DESIRED_REPLICAS]) == (
        "mine", "d", "2",
    )  # fmt: skip
