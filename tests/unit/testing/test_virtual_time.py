"""Kubernetes' timers in virtual time."""

import pytest

from steersman.client import tree
from steersman.client.errors import NotFound
from steersman.testing.embedded import EmbeddedCluster

NODES, PODS, JOBS, CRONJOBS = (
    tree("v1", "Node"),
    tree("v1", "Pod"),
    tree("batch/v1", "Job"),
    tree("batch/v1", "CronJob"),
)
RUN_SECONDS = "nodes.steersman.dev/run-seconds"


def job_spec(**more):
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    return {"template": {"metadata": {"annotations": {RUN_SECONDS: "5"}}, "spec": pod}, **more}


def pod(name):
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


async def test_cronjob_by_the_hour_runs_24_times_a_day():
    async with EmbeddedCluster(clock="virtual") as cluster:
        client, created = cluster.client(), set()
        metadata = {"name": "hourly", "namespace": "default"}
        spec = {"schedule": "0 * * * *", "jobTemplate": {"spec": job_spec()}, "successfulJobsHistoryLimit": 30}
        await client.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec})
        await cluster.clock.advance(hours=24)
        created = {job["metadata"]["creationTimestamp"] for job in await client.list(JOBS)}
        assert len(created) == 24
        assert {time[14:19] for time in created} == {"00:00"}


async def test_finished_job_is_deleted_when_its_ttl_expires():
    async with EmbeddedCluster(clock="virtual") as cluster:
        client = cluster.client()
        metadata = {"name": "short", "namespace": "default"}
        spec = job_spec(ttlSecondsAfterFinished=100)
        await client.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
        await cluster.clock.advance(90)
        assert (await client.get(JOBS, "short"))["status"]["succeeded"] == 1
        await cluster.clock.advance(30)
        with pytest.raises(NotFound):
            await client.get(JOBS, "short")


async def test_pods_of_a_silent_node_are_evicted_after_their_toleration():
    async with EmbeddedCluster(clock="virtual", nodes=2) as cluster:
        client = cluster.client()
        await client.create(pod("web"))
        await cluster.clock.advance(5)
        node = (await client.get(PODS, "web"))["spec"]["nodeName"]
        await cluster.nodes.fail(node)
        await cluster.clock.advance(120)
        taints = {taint["key"] for taint in (await client.get(NODES, node))["spec"]["taints"]}
        assert "node.kubernetes.io/unreachable" in taints
        assert "deletionTimestamp" not in (await client.get(PODS, "web"))["metadata"]
        await cluster.clock.advance(300)
        assert "deletionTimestamp" in (await client.get(PODS, "web"))["metadata"]


async def test_token_expires_in_virtual_time():
    async with EmbeddedCluster(clock="virtual", nodes=0, controllers=[], scheduler=False) as cluster:
        client, accounts = cluster.client(), tree("v1", "ServiceAccount")
        await client.create(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "default"}}
        )
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
        token = (await client.create_subresource(accounts, "a", "token", request))["status"]["token"]

        async def is_authenticated():
            review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
            return (await client.create(review))["status"].get("authenticated", False)

        assert await is_authenticated()
        await cluster.clock.advance(minutes=12)
        assert not await is_authenticated()
