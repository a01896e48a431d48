"""The API server's clients as processes run them: the scheduler, simulated nodes, or all of them with the controllers.

``steersman up`` runs all in one process beside the API server's, so that two cores work and nothing is loaded twice.
"""

from __future__ import annotations

import socket
import uuid
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.asynckit.clock import RealClock
from steersman.asynckit.ratelimit import TokenBucket
from steersman.client import drop_managed_fields
from steersman.client.connecting import connect
from steersman.client.leaderelection import LeaderElector, LeaseLock, Timing
from steersman.controllers.manager.assembly import MANAGER, add_controllers, wait_for_server
from steersman.controlplane.controller_manager import make_identities, run_component
from steersman.controlplane.elected import ElectedGroup
from steersman.controlplane.readiness import ReadinessReporter
from steersman.nodes.chaos.node_outages import NodeOutages
from steersman.nodes.kubelet.assembly import add_kubelet
from steersman.nodes.node_stages import NodeStages
from steersman.nodes.object_stages import DiscoveredStages
from steersman.nodes.pod_addresses import PodAddresses
from steersman.nodes.pods import PodKeeper
from steersman.nodes.provisioning import SimulatedStorage
from steersman.nodes.registration import NodeKeeper
from steersman.runtime.context import ControllerContext
from steersman.runtime.manager import Manager
from steersman.scheduler.scheduler import Scheduler
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AsyncExitStack
    from pathlib import Path

    from steersman.client import Client
    from steersman.controllers.manager.assembly import Group
    from steersman.controllers.manager.options import ManagerOptions
    from steersman.controlplane.readiness import Step
    from steersman.nodes.options import NodesOptions
    from steersman.scheduler.options import SchedulerOptions, Setup

SCHEDULER: Final = "kube-scheduler"
KUBELET: Final = "kubelet"


async def run_scheduler(setup: Setup, *, parent_pipe: int | None = None) -> int:
    """``steersman scheduler``; returns the exit code."""
    options = setup.options

    async def make(stack: AsyncExitStack) -> Manager:
        client = await stack.enter_async_context(
            _connect(options.kubeconfig, SCHEDULER, limit=_limit(options), server=options.master)
        )
        await wait_for_server(client, seconds=None)
        manager = Manager(
            client,
            elector=_elector(options, client) if options.leader_elect else None,
            health_host=options.address,
            health_port=options.port or None,
            transform=drop_managed_fields,
        )
        _add_scheduler(manager, manager.context, setup)
        return manager

    return await run_component(make, parent_pipe=parent_pipe, restarts=options.leader_elect_restart)


async def run_nodes(options: NodesOptions, *, parent_pipe: int | None = None) -> int:
    """``steersman nodes``; returns the exit code."""

    async def make(stack: AsyncExitStack) -> Manager:
        client = await stack.enter_async_context(_connect(options.kubeconfig, KUBELET))
        await wait_for_server(client, seconds=None)
        manager = Manager(client, transform=drop_managed_fields)
        _add_nodes(manager, manager.context, options)
        return manager

    return await run_component(make, parent_pipe=parent_pipe)


async def run_all(
    controllers: ManagerOptions,
    scheduler: Setup,
    nodes: NodesOptions,
    *,
    parent_pipe: int | None = None,
    reports_readiness: bool = False,
    after_ready: Callable[[], None] | None = None,
    health_socket: str = "",
) -> int:
    """Everything beside an API server whose only clients of the kind these are: there is nobody to be elected against.

    With coordinated elections, controllers and scheduler are candidates all the same. ``health_socket`` serves the health
    pages instead of a port. With ``reports_readiness`` the parent learns through ``parent_pipe`` (a socket, see
    ``child_process``) when pods run, and ``after_ready`` is called in a thread then.
    """

    async def make(stack: AsyncExitStack) -> Manager:
        identities = make_identities(controllers, clock=RealClock())
        stack.push_async_callback(identities.close)
        root = identities.root()
        served = await wait_for_server(root)
        manager = Manager(
            root,
            health_host=controllers.address,
            health_port=controllers.port or None,
            health_socket=health_socket,
            transform=drop_managed_fields,
        )
        shared = manager.context
        groups: dict[str, Group] = dict.fromkeys((MANAGER, SCHEDULER), manager)
        if controllers.coordinated_leader_election:
            groups = {name: manager.add(ElectedGroup(root, name, dice=shared.dice)) for name in groups}
        limit = _limit(scheduler.options)
        client = await stack.enter_async_context(_connect(controllers.kubeconfig, SCHEDULER, limit=limit))
        # It looks at the same objects, in the same form, as controllers do: what they watch is kept once.
        context = ControllerContext(client, dice=shared.dice, metrics=shared.metrics, informers=shared.informers)
        running_scheduler = _add_scheduler(groups[SCHEDULER], context, scheduler)
        manager.add_context(context)
        client = await stack.enter_async_context(_connect(controllers.kubeconfig, KUBELET))
        context = ControllerContext(client, dice=shared.dice, metrics=shared.metrics, transform=drop_managed_fields)
        simulated = _add_nodes(manager, context, nodes)
        manager.add_context(context)
        if reports_readiness and parent_pipe is not None:
            steps: list[Step] = [("the scheduler", running_scheduler.wait_ready)]
            if nodes.templates():
                steps += [("the simulated pods", simulated.pods.wait_ready)]
                steps += [("a node to be Ready", simulated.nodes.wait_node_ready)]
            manager.add(ReadinessReporter(parent_pipe, steps, after=after_ready))
        add_controllers(manager, controllers, identities, served, group=groups[MANAGER])
        return manager

    return await run_component(make, parent_pipe=parent_pipe)


class _SimulatedNodes(NamedTuple):
    nodes: NodeKeeper
    pods: PodKeeper


def _add_scheduler(group: Group, context: ControllerContext, setup: Setup) -> Scheduler:
    return group.add(Scheduler(context, settings=setup.settings, host=socket.gethostname()))


def _add_nodes(manager: Manager, context: ControllerContext, options: NodesOptions) -> _SimulatedNodes:
    node_stages = options.node_stages()
    addresses = PodAddresses()
    kubelet = add_kubelet(manager, context, options, addresses=addresses)
    tells_status = not any(stage.writes_status for stage in node_stages)
    chaos = options.chaos_rules()
    nodes = NodeKeeper(context, options.templates(), tells_status=tells_status, kubelet=kubelet.address)
    pods = PodKeeper(context, options.pod_stages(), is_others=kubelet.is_others, addresses=addresses, chaos=chaos)
    simulated = _SimulatedNodes(manager.add(nodes), manager.add(pods))
    manager.add(NodeOutages(context, chaos))
    if node_stages:
        manager.add(NodeStages(context, node_stages))
    if object_stages := options.object_stages():
        manager.add(DiscoveredStages(context, object_stages))
    if options.simulated_storage and options.templates():
        manager.add(SimulatedStorage(context))
    return simulated


def _limit(options: SchedulerOptions) -> tuple[float, int]:
    return options.kube_api_qps, options.kube_api_burst


def _connect(kubeconfig: Path | None, who: str, *, limit: tuple[float, int] = (0.0, 1), server: str = "") -> Client:
    """``limit``: requests a second (0: any number), and how many may come at once; ``server``: as of ``find_access``."""
    limiter = TokenBucket(*limit, clock=RealClock()) if limit[0] else None
    # The first word is the field manager of all that is written.
    agent = f"{who}/{KUBERNETES_VERSION} steersman/{__version__}"
    return connect(kubeconfig, server=server, user_agent=agent, limiter=limiter)


def _elector(options: SchedulerOptions, client: Client) -> LeaderElector:
    lock = LeaseLock(
        client,
        namespace=options.leader_elect_resource_namespace,
        name=options.leader_elect_resource_name,
        identity=f"{socket.gethostname()}_{uuid.uuid4()}",
    )
    timing = Timing(
        lease_duration_seconds=options.leader_elect_lease_duration_seconds,
        renew_deadline_seconds=options.leader_elect_renew_deadline_seconds,
        retry_period_seconds=options.leader_elect_retry_period_seconds,
    )
    return LeaderElector(lock, timing=timing, clock=client.clock, dice=Random())  # noqa: S311 — jitter
