"""Process pods against a server on the same loop: what their containers find, how they are told of, and how they go."""

import asyncio
import json
from contextlib import asynccontextmanager
from random import Random

from steersman.asynckit.tasks import Supervisor
from steersman.client import Client, tree
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.nodes.kubelet.log_lines import LogOptions
from steersman.nodes.node_object import NodeTemplate, new_node
from steersman.nodes.pod_addresses import PodAddresses
from steersman.nodes.processes.keeper import ProcessPodKeeper
from steersman.nodes.processes.selection import PROCESS_POD
from steersman.runtime.context import ControllerContext
from steersman.testing.inprocess import InProcessAPIServer

PODS = tree("v1", "Pod")
KUBECONFIG = {
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:7443"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "c",
}


def core(kind, name, **fields):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, **fields}


def pod(script, *, annotations=None, restart="Never", **container):
    made = core("Pod", "p")
    made["metadata"]["annotations"] = {PROCESS_POD: "true"} if annotations is None else annotations
    one = {"name": "c", "image": "i", "command": ["sh", "-c", script], **container}
    volumes = [{"name": "v", "configMap": {"name": "m"}}, {"name": "d", "persistentVolumeClaim": {"claimName": "k"}}]
    spec = {"nodeName": "n", "containers": [one], "restartPolicy": restart, "volumes": volumes}
    return {**made, "spec": {**spec, "terminationGracePeriodSeconds": 1}}


class World:
    def __init__(self, client, keeper):
        self.client, self.keeper = client, keeper

    async def until(self, holds):
        """The pod, once it is so."""
        async with asyncio.timeout(20), self.client.watch(PODS, namespace="default") as events:
            async for event in events:
                if event.type != "BOOKMARK" and holds(event.object):
                    return event.object
        raise AssertionError("the watch ended")

    async def phase(self, wanted):
        return await self.until(lambda found: found["status"].get("phase") == wanted)

    async def log(self, made):
        return b"".join([piece async for piece in self.keeper.host.logs(made, "c", LogOptions())]).decode()


@asynccontextmanager
async def cluster(folder):
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(KUBECONFIG))
    async with InProcessAPIServer() as server:
        client = Client(LoopbackTransport(server.core.client))
        await client.create(core("ServiceAccount", "default"))
        await client.create(core("ConfigMap", "kube-root-ca.crt", data={"ca.crt": "CA"}))
        await client.create(core("ConfigMap", "m", data={"color": "blue"}))
        await client.create(new_node(NodeTemplate(), "n", ip="172.16.0.1", now=client.clock.now()))
        context = ControllerContext(client, dice=Random(1))
        keeper = ProcessPodKeeper(context, kubeconfig=kubeconfig, addresses=PodAddresses(), directory=folder / "pods")
        context.informers.start()
        tasks = Supervisor("test")
        running = tasks.start("keeper", keeper.run())
        try:
            yield World(client, keeper)
        finally:
            keeper.stop()
            await running
            await tasks.close()
            await context.informers.close()


async def test_a_container_finds_its_mounts_its_account_and_the_api(tmp_path):
    mounts = [{"name": "v", "mountPath": "/etc/v"}, {"name": "d", "mountPath": "/data"}]
    script = """
        cat $STEERSMAN_ROOT/etc/v/color; echo
        echo $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT $HOSTNAME
        cat var/run/secrets/kubernetes.io/serviceaccount/ca.crt; echo
        grep -c https://127.0.0.1:7443 $KUBECONFIG
        echo kept >> data/said; cat data/said
    """
    async with cluster(tmp_path) as world:
        for lines in ("kept", "kept\nkept"):
            await world.client.create(pod(script, volumeMounts=mounts))
            made = await world.phase("Succeeded")
            assert await world.log(made) == f"blue\n127.0.0.1 7443 p\nCA\n1\n{lines}\n"
            assert made["status"]["podIP"]
            await world.client.delete(PODS, "p", namespace="default")
            async with asyncio.timeout(20):
                await gone(world.client)


async def gone(client):
    """Until there is no pod; each look lets others work."""
    while await client.list(PODS, namespace="default"):
        pass


async def test_a_pod_that_is_deleted_ends_and_goes_with_its_folder(tmp_path):
    async with cluster(tmp_path) as world:
        await world.client.create(pod("sleep 100", restart="Always"))
        await world.phase("Running")
        assert len(list((tmp_path / "pods").glob("default_p_*"))) == 1
        await world.client.delete(PODS, "p", namespace="default")
        async with asyncio.timeout(20):
            await gone(world.client)
            while list((tmp_path / "pods").glob("default_p_*")):
                await world.client.list(PODS, namespace="default")


async def test_other_pods_are_left_alone(tmp_path):
    async with cluster(tmp_path) as world:
        await world.client.create(pod("exit 0", annotations={}))
        made = await world.client.get(PODS, "p", namespace="default")
        node = await world.client.get(tree("v1", "Node"), "n")
        assert not world.keeper.concerns(made, node)
        assert not world.keeper.host.has(made)
