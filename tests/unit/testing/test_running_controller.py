"""Controllers of a test on the loop of an embedded cluster."""

import pytest
from tests.unit.testing.objects import config_map

from steersman.client import tree
from steersman.client.objects import name_of
from steersman.runtime.controller import Controller
from steersman.testing.embedded import EmbeddedCluster

MAPS = tree("v1", "ConfigMap")


class Labeller(Controller):
    """Labels every ConfigMap of the namespace ``default``."""

    name = "labeller"

    def __init__(self, context):
        super().__init__(context)
        self._maps = self.watch(MAPS, namespace="default")

    async def reconcile(self, key):
        obj = self._maps.lister.by_key(key)
        if obj is not None and "seen" not in (obj["metadata"].get("labels") or {}):
            await self.client.patch(MAPS, name_of(obj), {"metadata": {"labels": {"seen": "yes"}}}, namespace="default")


@pytest.fixture
async def cluster():
    """An API server alone."""
    async with EmbeddedCluster(clock="virtual", nodes=0, controllers=[], scheduler=False) as cluster:
        yield cluster


async def labels(cluster, name):
    await cluster.settle()
    return (await cluster.client().get(MAPS, name, namespace="default"))["metadata"].get("labels")


async def test_controller_of_the_test_works_until_it_is_stopped(cluster):
    controller = await cluster.run_controller(Labeller, user_agent="labeller/1")
    await cluster.client().create(config_map("a"))
    assert await labels(cluster, "a") == {"seen": "yes"}
    assert cluster.history("cm/a")[-1].reconcile == "labeller default/a (ConfigMap default/a added)"
    assert cluster.history("cm/a")[-1].user_agent == "labeller/1"
    await controller.stop()
    await cluster.client().create(config_map("b"))
    assert await labels(cluster, "b") is None
    await controller.restart()
    assert await labels(cluster, "b") == {"seen": "yes"}


async def test_error_of_the_construction_is_raised(cluster):
    def broken(context):
        raise RuntimeError("no such option")

    with pytest.raises(RuntimeError, match="no such option"):
        await cluster.run_controller(broken)
