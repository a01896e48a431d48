"""Components of an embedded cluster: controllers, scheduler and simulated nodes as clients of one transport."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.client import Client, drop_managed_fields
from steersman.controllers.manager.assembly import add_controllers
from steersman.controllers.manager.identities import OneIdentity
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.shared.served import ask
from steersman.controlplane.components import KUBELET, SCHEDULER, SimulatedNodes, add_nodes, add_scheduler
from steersman.nodes.registration import RENEW_INTERVAL_SECONDS
from steersman.runtime.context import ControllerContext
from steersman.runtime.manager import Manager
from steersman.scheduler.options import set_up
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.asynckit.clock import Clock
    from steersman.client.reflector import ReflectorOptions
    from steersman.client.transport import Transport
    from steersman.nodes.options import NodesOptions

#: Reconciles get so long to end when the cluster stops.
_GRACE_SECONDS: Final = 5.0


class Components(msgspec.Struct, frozen=True):
    """Manager of all components beside the API server, not started."""

    manager: Manager
    #: None without nodes.
    nodes: SimulatedNodes | None


async def make_components(
    transport: Transport,
    *,
    clock: Clock,
    dice: Random,
    controllers: Sequence[str] | None,
    has_scheduler: bool,
    nodes: NodesOptions,
    options: ManagerOptions | None = None,
    reflector: ReflectorOptions | None = None,
    renew_interval_seconds: float = RENEW_INTERVAL_SECONDS,
) -> Components:
    """Return the components of one process. ``controllers``: names as for ``--controllers``; None: the usual ones."""
    options = options or ManagerOptions()
    options = msgspec.structs.replace(
        options,
        leader_elect=False,
        port=0,
        min_resync_period_seconds=0,
        **({} if controllers is None else {"controllers": tuple(controllers)}),
    )
    identities = OneIdentity(transport, options, clock=clock)
    manager = Manager(
        identities.root(),
        dice=Random(dice.random()),  # noqa: S311 — jitter and names
        transform=drop_managed_fields,
        reflector=reflector,
        shutdown_grace_seconds=_GRACE_SECONDS,
    )
    if has_scheduler:
        add_scheduler(manager, _context(manager, transport, SCHEDULER, clock=clock, dice=dice), set_up())
    simulated = None
    if nodes.templates():
        simulated = add_nodes(
            manager,
            _context(manager, transport, KUBELET, clock=clock, dice=dice),
            nodes,
            renew_interval_seconds=renew_interval_seconds,
        )
    if controllers is None or controllers:
        add_controllers(manager, options, identities, await ask(identities.root()))
    return Components(manager, simulated)


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
