"""``steersman controller-manager``: the controllers as a process runs them."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import uuid
from contextlib import AsyncExitStack
from random import Random
from typing import TYPE_CHECKING, Final

from steersman.asynckit.clock import RealClock
from steersman.asynckit.tasks import Supervisor
from steersman.client.aiohttp_transport import AiohttpTransport
from steersman.client.connecting import find_access
from steersman.client.errors import ClientError
from steersman.client.leaderelection.candidate import Candidacy, LeaseCandidate
from steersman.controllers.manager.assembly import assemble
from steersman.controllers.manager.identities import Identities, OneIdentity, ServiceAccounts
from steersman.controlplane.process import EXIT_REFUSED, Reasons
from steersman.runtime.manager import LeadershipLost
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock
    from steersman.controllers.manager.options import ManagerOptions
    from steersman.runtime.manager import Manager

_log = logging.getLogger(__name__)

#: The exit code when another process leads now, or a controller failed for good.
EXIT_ENDED: Final = 1


async def run_controller_manager(options: ManagerOptions, *, parent_pipe: int | None = None) -> int:
    """Run until there is a reason to stop, or leadership is lost; returns the exit code.

    An orderly end lets running reconciles finish, then gives up the lease.
    """
    reasons = Reasons()
    reasons.listen()
    if parent_pipe is not None:
        reasons.follow_pipe(parent_pipe)
    clock = RealClock()
    try:
        identities = make_identities(options, clock=clock)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(identities.close)
            return await _run(options, identities, reasons, stack)
    except (ClientError, OSError, ValueError) as error:
        sys.stderr.write(f"steersman: {error}\n")
        return EXIT_REFUSED


async def _run(options: ManagerOptions, identities: Identities, reasons: Reasons, stack: AsyncExitStack) -> int:
    identity = options.leader_elect_identity or f"{socket.gethostname()}_{uuid.uuid4()}"
    stop = asyncio.create_task(reasons.wait(), name="reason to stop")
    making = asyncio.create_task(assemble(options, identities, identity=identity), name="controllers are made")
    await asyncio.wait([stop, making], return_when=asyncio.FIRST_COMPLETED)
    if not making.done():
        making.cancel()
        await asyncio.wait([making])
        return 0
    manager = making.result()
    beside = Supervisor("controller manager")
    stack.push_async_callback(beside.close)
    if options.leader_elect and options.coordinated_leader_election:
        beside.start("candidate", _candidate(options, identities, identity).run())
    return await run_until_stopped(manager, stop, reasons)


async def run_until_stopped(manager: Manager, stop: asyncio.Task[None], reasons: Reasons) -> int:
    running = asyncio.create_task(manager.run(), name="controllers")
    await asyncio.wait([running, stop], return_when=asyncio.FIRST_COMPLETED)
    if not running.done():
        manager.stop()
        insisted = asyncio.create_task(reasons.insisted(), name="second reason to stop")
        await asyncio.wait([running, insisted], return_when=asyncio.FIRST_COMPLETED)
        insisted.cancel()
        if not running.done():
            running.cancel()
            await asyncio.wait([running])
            return 0
    stop.cancel()
    try:
        await running
    except LeadershipLost as error:
        _log.error("%s", error)
        return EXIT_ENDED
    except Exception:  # noqa: BLE001 — whatever it was: logged, and the process ends with it
        _log.exception("a controller failed for good")
        return EXIT_ENDED
    return 0


def make_identities(options: ManagerOptions, *, clock: Clock) -> Identities:
    """As the kubeconfig's user, or each controller as its account. Raises ConfigError."""
    access = find_access(options.kubeconfig)
    if options.use_service_account_credentials:
        return ServiceAccounts(access, options, clock=clock)
    return OneIdentity(AiohttpTransport(access), options, clock=clock)


def _candidate(options: ManagerOptions, identities: Identities, identity: str) -> LeaseCandidate:
    version = KUBERNETES_VERSION.removeprefix("v")
    candidacy = Candidacy(
        namespace=options.leader_elect_resource_namespace,
        name=identity,
        lease_name=options.leader_elect_resource_name,
        binary_version=version,
        emulation_version=version,
    )
    return LeaseCandidate(identities.root(), candidacy, dice=Random(os.urandom(8)))  # noqa: S311 — jitter
