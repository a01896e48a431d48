"""Kubernetes' timers in virtual time."""

import asyncio
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from tests.unit.testing.objects import pod

from steersman.client import tree
from steersman.client.errors import NotFound
from steersman.testing.embedded import EmbeddedCluster

NODES, PODS, JOBS, CRONJOBS = (
    tree("v1", "Node"),
    tree("v1", "Pod"),
    tree("batch/v1", "Job"),
    tree("batch/v1", "CronJob"),
)
LEASES = tree("coordination.k8s.io/v1", "Lease")
RUN_SECONDS = "nodes.steersman.dev/run-seconds"


def job_spec(**more):
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    return {"template": {"metadata": {"annotations": {RUN_SECONDS: "5"}}, "spec": pod}, **more}


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


def renewals(cluster):
    return cluster.requests(verb="update", resource="leases")


async def renewed(cluster, node):
    lease = await cluster.client().get(LEASES, node, namespace="kube-node-lease")
    return datetime.fromisoformat(lease["spec"]["renewTime"])


async def test_heartbeats_of_a_quiet_day_are_few_and_the_last_one_is_recent():
    async with EmbeddedCluster(clock="virtual", nodes=2) as cluster:
        await cluster.clock.advance(hours=24)
        assert 2 <= len(renewals(cluster)) < 2 * 24 * 60
        for node in ("node-0", "node-1"):
            assert cluster.clock.now() - await renewed(cluster, node) < timedelta(seconds=40)
            conditions = (await cluster.client().get(NODES, node))["status"]["conditions"]
            assert {condition["status"] for condition in conditions if condition["type"] == "Ready"} == {"True"}


async def test_heartbeats_are_all_sent_when_another_client_watches_them():
    async with EmbeddedCluster(clock="virtual") as cluster:
        leases = []

        async def follow():
            async with cluster.client("observer").watch(LEASES, namespace="kube-node-lease", bookmarks=False) as events:
                async for event in events:
                    leases.append(event.object)  # noqa: PERF401 — the watch does not end

        following = asyncio.create_task(follow())
        await cluster.clock.advance(minutes=25)  # a server ends watches after half an hour or later
        following.cancel()
        times = [datetime.fromisoformat(lease["spec"]["renewTime"]) for lease in leases]
        assert max(later - time for time, later in pairwise(times)) < timedelta(seconds=50)
        assert len(times) > 30


async def test_node_that_is_cut_off_becomes_unknown_although_nothing_else_happens():
    async with EmbeddedCluster(clock="virtual") as cluster:
        await cluster.clock.advance(hours=2)
        cluster.faults.partition("nodes")
        await cluster.clock.advance(hours=2)
        conditions = (await cluster.client().get(NODES, "node-0"))["status"]["conditions"]
        (ready,) = (condition for condition in conditions if condition["type"] == "Ready")
        assert ready["status"] == "Unknown"
        changed = datetime.fromisoformat(ready["lastTransitionTime"])
        assert cluster.clock.now() - changed > timedelta(hours=1, minutes=58)


async def test_failed_node_becomes_unknown_within_the_grace_period_of_a_long_advance():
    async with EmbeddedCluster(clock="virtual", nodes=2) as cluster:
        await cluster.clock.advance(hours=3)
        failed_at = cluster.clock.now()
        await cluster.nodes.fail("node-0")
        await cluster.clock.advance(hours=5)
        conditions = (await cluster.client().get(NODES, "node-0"))["status"]["conditions"]
        (ready,) = (condition for condition in conditions if condition["type"] == "Ready")
        assert ready["status"] == "Unknown"
        assert datetime.fromisoformat(ready["lastTransitionTime"]) - failed_at <= timedelta(seconds=51)


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
