"""Components of an embedded cluster: controllers, scheduler and simulated nodes as clients of one transport."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.client import Client, drop_managed_fields
from steersman.controllers.manager.assembly import add_controllers, wait_for_server
from steersman.controllers.manager.identities import OneIdentity
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.shared.metadata_watch import MetadataWatch, shared
from steersman.controlplane.components import KUBELET, SCHEDULER, SimulatedNodes, add_nodes, add_scheduler
from steersman.nodes.registration import RENEW_INTERVAL_SECONDS
from steersman.runtime.context import ControllerContext
from steersman.runtime.manager import Manager
from steersman.runtime.metrics import UnexposedMetrics
from steersman.testing.clock import QUIET_STRETCH_SECONDS
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.asynckit.clock import Clock
    from steersman.client.reflector import ReflectorOptions
    from steersman.client.transport import Transport
    from steersman.nodes.options import NodesOptions
    from steersman.scheduler.options import Setup
    from steersman.testing.clock import SteadyClock, VirtualClock

#: Time for running reconciles to end when the cluster stops.
_GRACE_SECONDS: Final = 5.0
#: Interval of the nodes' heartbeats on a virtual clock. Heartbeats are exact there: with this interval the node monitor's grace
#: period of 50 s does not end between two of them.
VIRTUAL_RENEW_SECONDS: Final = 38.0
#: Margin of the interval between two taints.
_RATE_MARGIN: Final = 1.2
#: Controller that monitors heartbeats.
_NODE_LIFECYCLE: Final = "node-lifecycle-controller"


class Components(msgspec.Struct, frozen=True):
    """Manager of all components except the API server, not started."""

    manager: Manager
    #: None without nodes.
    nodes: SimulatedNodes | None
    #: Leadership of the controllers; None without controllers.
    metadata_watch: MetadataWatch | None


async def make_components(
    transport: Transport,
    *,
    clock: VirtualClock | SteadyClock,
    dice: Random,
    controllers: Sequence[str] | None,
    scheduler: Setup | None,
    nodes: NodesOptions,
    options: ManagerOptions | None = None,
    reflector: ReflectorOptions | None = None,
) -> Components:
    """Return the components of one process. ``controllers``: names as for ``--controllers``; None for the defaults."""
    options = options or ManagerOptions()
    options = msgspec.structs.replace(
        options,
        leader_elect=False,
        port=0,
        min_resync_period_seconds=0,
        **({} if controllers is None else {"controllers": tuple(controllers)}),
    )
    identities = OneIdentity(transport, options, clock=clock, metrics=UnexposedMetrics())
    manager = Manager(
        identities.root(),
        dice=Random(dice.random()),  # noqa: S311 — jitter and names
        metrics=identities.metrics,
        transform=drop_managed_fields,
        reflector=reflector,
        shutdown_grace_seconds=_GRACE_SECONDS,
    )
    if scheduler is not None:
        add_scheduler(manager, _context(manager, transport, SCHEDULER, clock=clock, dice=dice), scheduler)
    simulated, metadata_watch = None, None
    if nodes.templates():
        simulated = add_nodes(
            manager,
            _context(manager, transport, KUBELET, clock=clock, dice=dice),
            nodes,
            renew_interval_seconds=VIRTUAL_RENEW_SECONDS if clock.is_virtual else RENEW_INTERVAL_SECONDS,
            heartbeat_clock=clock.heartbeats,
        )
    if controllers is None or controllers:
        clock.quiet_stretch_seconds = _quiet_stretch_seconds(options)
        # A quiet stretch has no polls of discovery; controllers share the instance of their informer factory.
        metadata_watch = shared(identities.root(), manager.context.informers, clock=clock.monitors)
        served = await wait_for_server(identities.root())
        add_controllers(manager, options, identities, served, clocks={_NODE_LIFECYCLE: clock.monitors})
    return Components(manager, simulated, metadata_watch)


def _quiet_stretch_seconds(options: ManagerOptions) -> float:
    """Return the time after which the node lifecycle controller has no work that is not caused by heartbeats.

    It marks a silent node after a grace period, and taints the nodes of a zone one after the other, at its rate.
    """
    rates = (options.node_eviction_rate, options.secondary_node_eviction_rate)
    grace_periods = (options.node_monitor_grace_period_seconds, options.node_startup_grace_period_seconds)
    return max(QUIET_STRETCH_SECONDS, *grace_periods, *(_RATE_MARGIN / rate for rate in rates if rate > 0))


def _context(
    manager: Manager, transport: Transport, component: str, *, clock: Clock, dice: Random
) -> ControllerContext:
    """Return the context of a component with its own user agent; informers are shared by all."""
    agent = f"{component}/{KUBERNETES_VERSION} steersman/{__version__}"
    context = ControllerContext(
        Client(transport, clock=clock, user_agent=agent),
        dice=Random(dice.random()),  # noqa: S311 — jitter and names
        metrics=manager.context.metrics,
        informers=manager.context.informers,
    )
    manager.add_context(context)
    return context
