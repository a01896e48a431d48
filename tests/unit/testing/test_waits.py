"""Settling, and waits for objects."""

import asyncio

import pytest
from tests.unit.testing.objects import config_map, deployment

from steersman.asynckit.clock import RealClock
from steersman.client import tree
from steersman.runtime.context import ControllerContext
from steersman.runtime.controller import Controller
from steersman.testing.embedded import EmbeddedCluster
from steersman.testing.references import BadReference
from steersman.testing.waiting import BadCondition, SettleError, WaitError

MAPS, PODS = tree("v1", "ConfigMap"), tree("v1", "Pod")


class Restless(Controller):
    """Writes a ConfigMap whenever it changes: a hot loop."""

    name = "restless"

    def __init__(self, context):
        super().__init__(context)
        self._maps = self.watch(MAPS, when=lambda change: change.latest["metadata"]["name"] == "hot")

    async def reconcile(self, key):
        obj = self._maps.lister.by_key(key)
        count = int(obj["data"]["count"]) + 1
        await self.client.patch(MAPS, "hot", {"data": {"count": str(count)}}, namespace="default")


@pytest.fixture
async def cluster():
    async with EmbeddedCluster(clock="virtual", seed=1) as cluster:
        yield cluster


async def run(cluster, make):
    """Start a controller of the test's own."""
    context = ControllerContext(cluster.client("my-operator/1"))
    with cluster.recording():
        controller = make(context)
    context.informers.start()
    return asyncio.ensure_future(controller.run())


@pytest.mark.parametrize("clock", ["virtual", "real"])
async def test_settle_waits_for_what_follows_from_a_write(clock):
    async with EmbeddedCluster(clock=clock) as cluster:
        await cluster.client().create(deployment("web", replicas=3))
        await cluster.settle()
        pods = await cluster.client().list(PODS)
        assert len(pods) == 3
        assert all(pod["spec"]["nodeName"] for pod in pods)


async def test_settle_lets_no_time_pass(cluster):
    before = cluster.clock.now()
    await cluster.client().create(deployment("web"))
    await cluster.settle()
    assert cluster.clock.now() == before


async def test_settle_waits_for_threads(cluster):
    started = asyncio.get_running_loop().run_in_executor(None, sum, range(1_000_000))
    await cluster.settle()
    assert started.done()


async def test_settle_names_a_hot_loop(cluster):
    task = await run(cluster, Restless)
    await cluster.client().create(config_map("hot", count="0"))
    with pytest.raises(AssertionError, match="hot loop: restless reconciled default/hot"):
        await check_for_hot_loops(cluster)
    with pytest.raises(
        SettleError, match=r"hot loop: restless reconciled default/hot \d+ times.*ConfigMap default/hot updated"
    ):
        await cluster.settle(timeout=0.1)
    task.cancel()
    await asyncio.wait([task])


async def check_for_hot_loops(cluster):
    """Check again and again while controllers work."""
    while True:
        cluster.assert_no_hot_loop()
        await RealClock().sleep(0)


async def test_settle_names_requests_in_flight(cluster):
    cluster.faults.delay(30, resource="configmaps", verb="create")
    request = asyncio.ensure_future(cluster.client().create(config_map("a")))
    with pytest.raises(SettleError, match=r"in flight: .* create configmaps default by embedded-test"):
        await cluster.settle(timeout=0.1)
    await cluster.clock.advance(61)
    await request


async def test_wait_for_lets_virtual_time_pass(cluster):
    await cluster.client().create(deployment("web"))
    result = await cluster.wait_for("deployment/web", "condition=Available")
    assert result["status"]["availableReplicas"] == 2


async def test_wait_for_fails_with_the_history_of_the_object(cluster):
    await cluster.client().create(config_map("a", x="1"))
    await cluster.client("editor").patch(MAPS, "a", {"data": {"x": "2"}}, namespace="default")
    with pytest.raises(
        WaitError, match=r'configmap/a has not reached .data.x=3 within 5 s(.|\n)*by editor\n *data.x: "1" → "2"'
    ):
        await cluster.wait_for("configmap/a", ".data.x=3", timeout=5)


async def test_wait_for_deletion_returns_when_the_object_is_gone(cluster):
    await cluster.client().create(config_map("a"))
    deletion = asyncio.ensure_future(cluster.client().delete(MAPS, "a", namespace="default"))
    assert await cluster.wait_for("cm/a", "delete") == {}
    await deletion


async def test_wait_for_rejects_unknown_resources_and_conditions(cluster):
    with pytest.raises(BadReference, match='no resource "widget"'):
        await cluster.wait_for("widget/a", "create")
    with pytest.raises(BadCondition, match='"Available" is no condition'):
        await cluster.wait_for("deployment/a", "Available")


async def test_eventually_returns_the_first_true_result(cluster):
    await cluster.client().create(deployment("web"))

    async def ready_pods():
        pods = await cluster.client().list(PODS)
        assert pods
        return [pod for pod in pods if pod["status"]["phase"] == "Running"]

    assert len(await cluster.eventually(ready_pods)) >= 1


async def test_eventually_fails_with_the_last_assertion(cluster):
    def never():
        raise AssertionError("too bad")

    with pytest.raises(WaitError, match="never did not hold within 3 seconds") as failure:
        await cluster.eventually(never, timeout=3)
    assert str(failure.value.__cause__) == "too bad"


async def test_assert_quiet_holds_without_work(cluster):
    await cluster.clock.advance(60)
    await cluster.assert_quiet(300)


async def test_assert_quiet_names_writes_and_their_reconciles(cluster):
    await cluster.client().create(deployment("web"))
    await cluster.clock.advance(60)
    await cluster.client("editor").patch(
        tree("apps/v1", "Deployment"), "web", {"spec": {"replicas": 3}}, namespace="default"
    )
    with pytest.raises(
        AssertionError, match=r"pods/default/web-.* by kube-controller-manager.*, reconcile of replicaset"
    ):
        await cluster.assert_quiet(1)
