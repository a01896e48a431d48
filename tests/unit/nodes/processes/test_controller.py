"""Process pods against a server on the same loop: container environment, status, deletion."""

import asyncio
import json
import os
from contextlib import asynccontextmanager
from random import Random

from tests.busy_machine import HANG_SECONDS
from tests.waits import wait_until

from steersman.asynckit.tasks import Supervisor
from steersman.client import Client, tree
from steersman.client.requests import PatchType
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.nodes.kubelet.log_lines import LogOptions
from steersman.nodes.node_object import NodeTemplate, new_node
from steersman.nodes.pod_addresses import PodAddresses
from steersman.nodes.pod_admission import PodAdmission
from steersman.nodes.processes.controller import ProcessPodController
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
    created = core("Pod", "p")
    created["metadata"]["annotations"] = {PROCESS_POD: "true"} if annotations is None else annotations
    one = {"name": "c", "image": "i", "command": ["sh", "-c", script], **container}
    volumes = [{"name": "v", "configMap": {"name": "m"}}, {"name": "d", "persistentVolumeClaim": {"claimName": "k"}}]
    spec = {"nodeName": "n", "containers": [one], "restartPolicy": restart, "volumes": volumes}
    return {**created, "spec": {**spec, "terminationGracePeriodSeconds": 1}}


class World:
    def __init__(self, client, controller):
        self.client, self.controller = client, controller

    async def wait_until(self, condition):
        return await wait_until(self.client, PODS, condition, namespace="default")

    async def phase(self, expected):
        return await self.wait_until(lambda obj: obj["status"].get("phase") == expected)

    async def log(self, obj, container="c"):
        return b"".join([piece async for piece in self.controller.host.logs(obj, container, LogOptions())]).decode()


@asynccontextmanager
async def cluster(folder, *, isolation="none", images=None):
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(KUBECONFIG))
    async with InProcessAPIServer() as server:
        client = Client(LoopbackTransport(server.core.client))
        await client.create(core("ServiceAccount", "default"))
        await client.create(core("ConfigMap", "kube-root-ca.crt", data={"ca.crt": "CA"}))
        await client.create(core("ConfigMap", "m", data={"color": "blue"}))
        await client.create(new_node(NodeTemplate(), "n", ip="172.16.0.1", now=client.clock.now()))
        context = ControllerContext(client, dice=Random(1))
        controller = ProcessPodController(
            context,
            kubeconfig=kubeconfig,
            addresses=PodAddresses(),
            admission=PodAdmission(),
            isolation=isolation,
            images=images,
            directory=folder / "pods",
        )
        context.informers.start()
        tasks = Supervisor("test")
        running = tasks.start("controller", controller.run())
        try:
            yield World(client, controller)
        finally:
            controller.stop()
            await running
            await tasks.close()
            await context.informers.close()


async def test_container_has_mounts_service_account_and_api_access(tmp_path):
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
            created = await world.phase("Succeeded")
            assert await world.log(created) == f"blue\n127.0.0.1 7443 p\nCA\n1\n{lines}\n"
            assert created["status"]["podIP"]
            await world.client.delete(PODS, "p", namespace="default")
            async with asyncio.timeout(HANG_SECONDS):
                await until_deleted(world.client)


async def until_deleted(client):
    """Wait until there is no pod."""
    while await client.list(PODS, namespace="default"):
        pass


async def test_deleted_pod_terminates_and_its_directory_is_removed(tmp_path):
    async with cluster(tmp_path) as world:
        await world.client.create(pod("sleep 100", restart="Always"))
        await world.phase("Running")
        assert len(list((tmp_path / "pods").glob("default_p_*"))) == 1
        await world.client.delete(PODS, "p", namespace="default")
        async with asyncio.timeout(HANG_SECONDS):
            await until_deleted(world.client)
            while list((tmp_path / "pods").glob("default_p_*")):
                await world.client.list(PODS, namespace="default")


async def add_ephemeral_container(world, script, **fields):
    container = {"name": "e", "image": "i", "command": ["sh", "-c", script], **fields}
    patch = {"spec": {"ephemeralContainers": [container]}}
    await world.client.patch(
        PODS, "p", patch, patch_type=PatchType.STRATEGIC, namespace="default", subresource="ephemeralcontainers"
    )


def ephemeral_state(obj, kind):
    statuses = obj["status"].get("ephemeralContainerStatuses") or [{}]
    return statuses[0].get("state", {}).get(kind)


async def test_ephemeral_container_runs_once_beside_the_others(tmp_path):
    async with cluster(tmp_path) as world:
        await world.client.create(pod("sleep 100", restart="Always"))
        await world.phase("Running")
        source = {"configMapKeyRef": {"name": "debug", "key": "word"}}
        await world.client.create(core("ConfigMap", "debug", data={"word": "hello"}))
        await add_ephemeral_container(world, "echo $WORD; exit 3", env=[{"name": "WORD", "valueFrom": source}])
        ended = await world.wait_until(lambda obj: ephemeral_state(obj, "terminated"))
        assert ephemeral_state(ended, "terminated")["exitCode"] == 3
        [status] = ended["status"]["ephemeralContainerStatuses"]
        assert (status["ready"], status["restartCount"], "started" in status) == (False, 0, False)
        assert await world.log(ended, "e") == "hello\n"
        assert ended["status"]["phase"] == "Running"


async def test_pod_ends_its_ephemeral_containers(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    async with cluster(tmp_path) as world:
        await world.client.create(pod(f"cat {fifo}"))
        await world.phase("Running")
        await add_ephemeral_container(world, "exec sleep 1000")
        await world.wait_until(lambda obj: ephemeral_state(obj, "running"))
        await asyncio.to_thread(fifo.write_text, "")
        ended = await world.phase("Succeeded")
        assert ephemeral_state(ended, "terminated")["exitCode"] != 0


async def test_deleted_pod_ends_its_ephemeral_containers(tmp_path):
    async with cluster(tmp_path) as world:
        await world.client.create(pod("exec sleep 1000"))
        await world.phase("Running")
        await add_ephemeral_container(world, "exec sleep 1000")
        await world.wait_until(lambda obj: ephemeral_state(obj, "running"))
        await world.client.delete(PODS, "p", namespace="default")
        async with asyncio.timeout(HANG_SECONDS):
            await until_deleted(world.client)


async def test_other_pods_are_ignored(tmp_path):
    async with cluster(tmp_path) as world:
        await world.client.create(pod("exit 0", annotations={}))
        pods = await world.client.get(PODS, "p", namespace="default")
        node = await world.client.get(tree("v1", "Node"), "n")
        assert not world.controller.concerns(pods, node)
        assert not world.controller.host.has(pods)
