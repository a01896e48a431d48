"""Components of an embedded cluster."""

import pytest

from steersman.controllers.manager.options import ManagerOptions
from steersman.testing.embedded import EmbeddedCluster


async def test_only_the_named_controllers_run():
    async with EmbeddedCluster(
        clock="virtual", nodes=0, controllers=["ttl-after-finished-controller"], scheduler=False
    ) as cluster:
        await cluster.clock.advance(60)
        agents = {record.user_agent.rpartition("/")[2] for record in cluster.requests(verb="watch")}
        watched = {record.resource for record in cluster.requests(verb="watch")}
    assert "jobs.batch" in watched
    assert "deployments.apps" not in watched
    assert agents


async def test_metadata_watch_follows_the_informers_of_other_components():
    async with EmbeddedCluster(clock="virtual") as cluster:
        await cluster.settle()
        components = cluster._components._components
        followed = components.metadata_watch.informers
        whole = {
            name: informer for (_, name), informer in components.manager.context.informers.of_whole_objects().items()
        }
        assert {"pods", "jobs.batch", "clusterroles.rbac.authorization.k8s.io"} <= whole.keys() <= followed.keys()
        assert [name for name, informer in whole.items() if followed[name] is not informer] == []


async def test_components_have_user_agents_of_their_own():
    async with EmbeddedCluster(clock="virtual") as cluster:
        spec = {"containers": [{"name": "c", "image": "i"}]}
        await cluster.client().create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
        await cluster.settle()
        agents = {record.user_agent.partition("/")[0] for record in cluster.requests()}
    assert agents == {"kube-controller-manager", "kube-scheduler", "kubelet", "embedded-test"}


@pytest.mark.parametrize(("rate", "seconds"), [(0.01, 120), (0.002, 600), (0, 120)])
async def test_quiet_stretch_begins_when_no_taint_can_follow(rate, seconds):
    options = ManagerOptions(secondary_node_eviction_rate=rate)
    async with EmbeddedCluster(
        clock="virtual", nodes=0, controllers=["node-lifecycle-controller"], scheduler=False, manager_options=options
    ) as cluster:
        assert cluster.clock.quiet_stretch_seconds == seconds
