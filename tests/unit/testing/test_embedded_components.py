"""Components of an embedded cluster."""

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


async def test_components_have_user_agents_of_their_own():
    async with EmbeddedCluster(clock="virtual") as cluster:
        spec = {"containers": [{"name": "c", "image": "i"}]}
        await cluster.client().create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
        await cluster.settle()
        agents = {record.user_agent.partition("/")[0] for record in cluster.requests()}
    assert agents == {"kube-controller-manager", "kube-scheduler", "kubelet", "embedded-test"}
