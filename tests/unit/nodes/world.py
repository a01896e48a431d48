"""Simulated nodes against a server on the same loop, with virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from steersman.apimachinery.trees import Tree
from steersman.asynckit.clock import FakeClock
from steersman.asynckit.tasks import Supervisor
from steersman.client import Client, tree
from steersman.client.transport import Transport
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.nodes.chaos.node_outages import NodeOutages
from steersman.nodes.node_object import (
    KubeletAddress,
    NodeTemplate,
)
from steersman.nodes.node_stages import NodeStages
from steersman.nodes.object_stages import DiscoveredStages
from steersman.nodes.options import NodesOptions
from steersman.nodes.pods import PodController
from steersman.nodes.registration import NodeController
from steersman.runtime.context import ControllerContext
from steersman.testing.inprocess import InProcessAPIServer

Wrap = Callable[[Transport], Transport]
PODS, NODES = tree("v1", "Pod"), tree("v1", "Node")


class Cluster:
    def __init__(self, client: Client, clock: FakeClock) -> None:
        self.client = client
        self.clock = clock
        self.nodes: Nodes
        self.start: Callable[..., Nodes]

    def start_with(self, wrap: Wrap) -> None:
        """Start a nodes' process after the last one was closed; ``wrap`` as for ``cluster``."""
        self.nodes = self.start(wrap)

    async def restart(self) -> None:
        """Replace the nodes' process by a new one."""
        await self.nodes.close()
        self.nodes = self.start()
        await self.settle()

    async def settle(self, seconds: float = 0.0) -> None:
        await self.clock.advance(seconds)
        for _ in range(20):
            await self.clock.advance(0.01)

    async def pod(self, name: str, **spec: Any) -> Tree:
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "node-0", **spec}
        notes = spec.pop("annotations", {})
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "annotations": notes},
            "spec": {"automountServiceAccountToken": False, **spec},
        }
        return await self.client.create(pod)

    async def phase(self, name: str) -> str:
        pods = await self.client.get(PODS, name, namespace="default")
        return str(pods["status"].get("phase"))


class Nodes:
    """The controllers of the nodes' process."""

    def __init__(
        self, client: Client, options: NodesOptions, kubelet: KubeletAddress | None, *, has_pods: bool
    ) -> None:
        self._context = ControllerContext(client, dice=Random(1))
        self._tasks = Supervisor("nodes")
        reports_status = not any(stage.writes_status for stage in options.node_stages())
        chaos = options.chaos_rules()
        pods = PodController(self._context, options.pod_stages(), workers=2, chaos=chaos, pod_events=options.pod_events)
        controllers = [
            NodeController(self._context, {"node-0": NodeTemplate()}, reports_status=reports_status, kubelet=kubelet),
            NodeStages(self._context, options.node_stages()),
            NodeOutages(self._context, chaos),
            DiscoveredStages(self._context, options.object_stages()),
            *([pods] if has_pods else []),
        ]
        self._context.informers.start()
        self._tasks.start("events", self._context.events.run())
        for controller in controllers:
            self._tasks.start(controller.name, controller.run())

    async def close(self) -> None:
        await self._tasks.close()
        await self._context.informers.close()


@asynccontextmanager
async def cluster(
    stages: str = "default",
    *,
    has_pods: bool = True,
    kubelet: KubeletAddress | None = None,
    chaos: Path | None = None,
    pod_events: bool = True,
    wrap: Wrap = lambda transport: transport,
) -> AsyncIterator[Cluster]:
    """Run simulated nodes. ``wrap`` returns the transport of their client, e.g. one that injects faults."""
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock) as server:
        client = Client(LoopbackTransport(server.core.client), clock=clock)
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": "default"},
        }
        await client.create(account)
        world = Cluster(client, clock)
        options = NodesOptions(stages=stages, chaos=chaos, pod_events=pod_events)

        def start(wrap: Wrap = wrap) -> Nodes:
            nodes_client = Client(wrap(LoopbackTransport(server.core.client)), clock=clock)
            return Nodes(nodes_client, options, kubelet, has_pods=has_pods)

        world.start = start
        world.nodes = world.start()
        await world.settle()
        try:
            yield world
        finally:
            await world.nodes.close()


STAGE_FILES = Path(__file__).parent / "stages"


async def ready_since(world: Cluster) -> tuple[str, str]:
    node = await world.client.get(NODES, "node-0")
    ready = next(condition for condition in node["status"]["conditions"] if condition["type"] == "Ready")
    return ready["status"], ready["lastHeartbeatTime"]
