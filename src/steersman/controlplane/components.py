"""Components as processes run them: the scheduler, simulated nodes, or both with the controllers.

``steersman up`` runs them in a second process, so that two cores are used and modules are loaded once.
"""

from __future__ import annotations

import socket
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from steersman.asynckit.clock import RealClock
from steersman.asynckit.ratelimit import TokenBucket
from steersman.client import drop_managed_fields
from steersman.client.connecting import connect
from steersman.controllers.manager.assembly import MANAGER, add_controllers, wait_for_server
from steersman.controlplane.controller_manager import make_identities, run_component
from steersman.controlplane.readiness import ReadinessReporter
from steersman.nodes.chaos.node_outages import NodeOutages
from steersman.nodes.kubelet.assembly import LazyKubeletServer, add_kubelet
from steersman.nodes.node_stages import NodeStages
from steersman.nodes.object_stages import DiscoveredStages
from steersman.nodes.pod_addresses import PodAddresses
from steersman.nodes.pod_admission import PodAdmission
from steersman.nodes.pods import PodController
from steersman.nodes.provisioning import SimulatedStorage
from steersman.nodes.registration import RENEW_INTERVAL_SECONDS, NodeController
from steersman.runtime.context import ControllerContext
from steersman.runtime.elected_group import add_elected_group
from steersman.runtime.leader_election import elector_for
from steersman.runtime.manager import Manager
from steersman.runtime.metrics import RuntimeMetrics
from steersman.scheduler.pod_info import DEFAULT_SCHEDULER
from steersman.scheduler.scheduler import Scheduler
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AsyncExitStack
    from pathlib import Path

    from steersman.asynckit.clock import Clock
    from steersman.client import Client
    from steersman.client.sending import ClientMetrics
    from steersman.controllers.manager.assembly import Group
    from steersman.controllers.manager.options import ManagerOptions
    from steersman.controlplane.component_serving import Serving
    from steersman.controlplane.readiness import Step
    from steersman.nodes.options import NodesOptions
    from steersman.runtime.leader_election import LeaderElectionOptions
    from steersman.scheduler.options import SchedulerOptions, Setup

SCHEDULER: Final = "kube-scheduler"
KUBELET: Final = "kubelet"
#: The certificates of the metrics server are created at each start.
_CERTIFICATE_LIFE: Final = timedelta(days=365)


async def run_scheduler(setup: Setup, *, parent_pipe: int | None = None, serving: Serving | None = None) -> int:
    """Run ``steersman scheduler``; return the exit code. Without ``serving`` there is no HTTPS."""
    from steersman.controlplane.component_metrics import add_component_metrics  # noqa: PLC0415 — ``up`` does without
    from steersman.controlplane.component_serving import add_secure_server  # noqa: PLC0415 — ``up`` does without

    options = setup.options

    async def make(stack: AsyncExitStack) -> Manager:
        metrics = RuntimeMetrics()
        add_component_metrics(metrics.registry)
        client = await stack.enter_async_context(
            _connect(
                options.kubeconfig, SCHEDULER, limit=_limit(options), server=options.master, metrics=metrics.client
            )
        )
        await wait_for_server(client, seconds=None)
        manager = Manager(
            client,
            metrics=metrics,
            elector=(lambda context: elector_for(options, context, identity=_identity(), component=DEFAULT_SCHEDULER))
            if options.leader_elect
            else None,
            health_host=options.address,
            health_port=options.port or None,
            transform=drop_managed_fields,
        )
        add_scheduler(manager, manager.context, setup)
        await add_secure_server(manager, serving, stack)
        return manager

    return await run_component(make, parent_pipe=parent_pipe, restarts=options.leader_elect_restart)


async def run_nodes(options: NodesOptions, *, parent_pipe: int | None = None) -> int:
    """Run ``steersman nodes``; return the exit code."""

    async def make(stack: AsyncExitStack) -> Manager:
        client = await stack.enter_async_context(_connect(options.kubeconfig, KUBELET))
        await wait_for_server(client, seconds=None)
        manager = Manager(client, transform=drop_managed_fields)
        add_nodes(manager, manager.context, options)
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
    """Run all components of an API server without other controllers and schedulers, hence without leader election. With
    coordinated elections, controllers and scheduler are candidates nevertheless. ``health_socket`` serves the health pages
    instead of a port. With ``reports_readiness`` the parent is notified through ``parent_pipe`` (a socket, see
    ``child_process``) when pods run, and ``after_ready`` is then called in a thread.
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
            # The flag of ``up`` applies to both candidates.
            scheduling = msgspec.structs.replace(scheduler.options, coordinated_leader_election=True)
            elections: dict[str, LeaderElectionOptions] = {MANAGER: controllers, SCHEDULER: scheduling}
            for name, options in elections.items():
                elector = elector_for(options, shared, identity=_identity(), component=name)
                groups[name] = add_elected_group(manager, elector, check=f"leaderElection-{name}", title=f"{name}: ")
        limit = _limit(scheduler.options)
        client = await stack.enter_async_context(_connect(controllers.kubeconfig, SCHEDULER, limit=limit))
        # Scheduler and controllers share informers: they watch the same objects in the same form.
        context = ControllerContext(client, dice=shared.dice, metrics=shared.metrics, informers=shared.informers)
        running_scheduler = add_scheduler(groups[SCHEDULER], context, scheduler)
        manager.add_context(context)
        client = await stack.enter_async_context(_connect(controllers.kubeconfig, KUBELET))
        context = ControllerContext(client, dice=shared.dice, metrics=shared.metrics, transform=drop_managed_fields)
        simulated = add_nodes(manager, context, nodes)
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


class SimulatedNodes(NamedTuple):
    """Controllers of the simulated nodes, with readiness."""

    nodes: NodeController
    pods: PodController
    #: Kubelet server; None if the nodes' kubelet does not listen.
    kubelet: LazyKubeletServer | None

    async def listen_elsewhere(self) -> None:
        """Make the kubelet listen on another port, e.g. in a forked process, and publish it. Raises ``ApiError``."""
        if self.kubelet is not None:
            self.kubelet.listen_elsewhere()
            await self.nodes.move_kubelet(self.kubelet.port)


def add_scheduler(group: Group, context: ControllerContext, setup: Setup) -> Scheduler:
    """Add the scheduler."""
    return group.add(Scheduler(context, settings=setup.settings, host=socket.gethostname()))


def add_nodes(
    manager: Manager,
    context: ControllerContext,
    options: NodesOptions,
    *,
    renew_interval_seconds: float = RENEW_INTERVAL_SECONDS,
    heartbeat_clock: Clock | None = None,
) -> SimulatedNodes:
    """Add the controllers of simulated nodes, their pods and volumes.

    ``heartbeat_clock`` is that of the nodes' registration and heartbeats, the context's by default.
    """
    node_stages = options.node_stages()
    addresses, admission = PodAddresses(), PodAdmission()
    kubelet = add_kubelet(manager, context, options, addresses=addresses, admission=admission)
    reports_status = not any(stage.writes_status for stage in node_stages)
    chaos = options.chaos_rules()
    nodes = NodeController(
        context if heartbeat_clock is None else context.on_clock(heartbeat_clock),
        options.templates(),
        reports_status=reports_status,
        kubelet=kubelet.address,
        renew_interval_seconds=renew_interval_seconds,
    )
    pods = PodController(
        context,
        options.pod_stages(),
        is_managed_elsewhere=kubelet.is_managed_elsewhere,
        addresses=addresses,
        admission=admission,
        chaos=chaos,
        pod_events=options.pod_events,
    )
    simulated = SimulatedNodes(manager.add(nodes), manager.add(pods), kubelet.server)
    manager.add(NodeOutages(context, chaos))
    if node_stages:
        manager.add(NodeStages(context, node_stages))
    if object_stages := options.object_stages():
        manager.add(DiscoveredStages(context, object_stages))
    if options.simulated_storage and options.templates():
        manager.add(SimulatedStorage(context))
    if options.metrics:
        _add_metrics_server(manager, context, options)
    return simulated


def _add_metrics_server(manager: Manager, context: ControllerContext, options: NodesOptions) -> None:
    """Add the server of ``metrics.k8s.io`` with a serving certificate for the life of the process."""
    from steersman.asynckit.certificates import make_ca, make_server  # noqa: PLC0415 — off unless asked for
    from steersman.nodes.metrics.server import MetricsServer, ServingPems  # noqa: PLC0415 — loads an HTTP server
    from steersman.nodes.metrics.usage import usage_of_documents  # noqa: PLC0415 — off unless asked for

    def make_pems(hosts: list[str]) -> ServingPems:
        now = context.clock.now()
        authority = make_ca("metrics-server-ca", now=now, life=_CERTIFICATE_LIFE)
        pems = make_server("metrics-server", hosts, authority, now=now, life=_CERTIFICATE_LIFE)
        return ServingPems(pems.certificate, pems.key, authority.certificate)

    usage = usage_of_documents(options.usage_documents(), dice=context.dice)
    manager.add(MetricsServer(context, usage, make_pems))


def _limit(options: SchedulerOptions) -> tuple[float, int]:
    return options.kube_api_qps, options.kube_api_burst


def _connect(
    kubeconfig: Path | None,
    component: str,
    *,
    limit: tuple[float, int] = (0.0, 1),
    server: str = "",
    metrics: ClientMetrics | None = None,
) -> Client:
    """Return a client. ``limit``: requests per second (0: unlimited) and burst; ``server``: as in ``find_access``."""
    limiter = TokenBucket(*limit, clock=RealClock()) if limit[0] else None
    # The first word is the field manager of all writes.
    agent = f"{component}/{KUBERNETES_VERSION} steersman/{__version__}"
    return connect(kubeconfig, server=server, user_agent=agent, limiter=limiter, metrics=metrics)


def _identity() -> str:
    """Return the identity of one process in elections, as upstream's ``hostname_uuid``."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"
