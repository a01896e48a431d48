"""Controllers of the registry in a manager of another program."""

from __future__ import annotations

import asyncio

import pytest
from lightkube.models.core_v1 import Pod
from tests.installed import install

from steersman.controllers.entry_points import RegistryError
from steersman.controllers.options import ControllerOptions
from steersman.controllers.registry import REGISTRY
from steersman.controllers.starters import add_controllers, controller_names
from steersman.runtime.manager import Manager


@pytest.fixture
async def manager(cluster):
    """A manager that is stopped after the test if it runs."""
    new_manager = Manager(cluster.client)
    yield new_manager
    new_manager.stop()


async def run_until_ready(cluster, manager):
    task = asyncio.create_task(manager.run())
    await cluster.until(lambda: manager.is_ready)
    return task


async def stop(cluster, manager, task):
    manager.stop()
    await cluster.until(task.done)
    task.result()


def test_controller_names_are_those_of_the_release_and_of_packages(site):
    install(site, "acme", idle_controller="Idle")
    names = controller_names()
    assert names[-1] == "idle-controller"
    assert {"deployment-controller", "replicationcontroller-controller"} <= set(names)
    assert names[:-1] == tuple(entry.name for entry in REGISTRY if entry.module)


async def test_added_controllers_reconcile(cluster, manager, pod_spec):
    added = await add_controllers(manager, "deployment-controller", "replicaset")
    assert [item.name for item in added] == ["deployment-controller", "replicaset-controller"]
    task = await run_until_ready(cluster, manager)
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": pod_spec}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    await cluster.make("apps/v1", "Deployment", "d", namespace="default", spec=spec)

    async def has_two():
        return len(await cluster.client.list(Pod)) == 2

    await cluster.until(has_two)
    page = await manager.healthz.page({"verbose": ""})
    assert b"[+]replicaset-controller ok" in page.body
    await stop(cluster, manager, task)


async def test_add_controllers_can_be_called_repeatedly(cluster, manager, site):
    install(site, "acme", idle_controller="Idle")
    await add_controllers(manager, "deployment-controller")
    await add_controllers(manager, "idle-controller")
    task = await run_until_ready(cluster, manager)
    for name in ("deployment-controller", "idle-controller"):
        labels = {"name": name, "manager": "kube-controller-manager"}
        assert manager.context.metrics.registry.get_sample_value("running_managed_controllers", labels) == 1
    await stop(cluster, manager, task)


async def test_added_controllers_share_the_informers_of_the_manager(cluster, manager):
    added = await add_controllers(manager, "replicaset", "replicationcontroller")
    pods = {id(item._controller.pods) for item in added}
    assert pods == {id(manager.context.informers.informer(Pod))}


async def test_options_reach_the_controllers(cluster, manager):
    (added,) = await add_controllers(manager, "replicaset", options=ControllerOptions(concurrent_replicaset_syncs=7))
    assert added._controller.options.concurrent_replicaset_syncs == 7


@pytest.mark.parametrize("name", ["no-such-controller", "", "service-lb-controller", "service-cidr-controller"])
async def test_add_controllers_rejects_names_that_it_cannot_start(manager, name):
    with pytest.raises(RegistryError, match="is not in the list of known controllers"):
        await add_controllers(manager, "replicaset", name)
    assert manager._runnables == []


async def test_add_controllers_rejects_a_broken_entry_point_before_it_adds_anything(manager, site):
    install(site, "broken", broken_controller="Idle", text="import no_such_module")
    with pytest.raises(RegistryError, match="No module named 'no_such_module'"):
        await add_controllers(manager, "replicaset", "broken-controller")
    assert manager._runnables == []


async def test_add_controllers_rejects_a_controller_whose_api_is_not_served(manager):
    with pytest.raises(RegistryError, match=r"the server does not serve resource\.k8s\.io/v1alpha3"):
        await add_controllers(manager, "resourcepoolstatusrequest-controller")


async def test_add_controllers_rejects_a_controller_that_the_options_disable(manager):
    with pytest.raises(RegistryError, match="has nothing to do with these options"):
        await add_controllers(manager, "serviceaccount-token-controller")
