"""``steersman controller-manager``: the process of the controllers."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time
import uuid
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.asynckit.clock import RealClock
from steersman.client.aiohttp_transport import AiohttpTransport
from steersman.client.connecting import find_access
from steersman.client.errors import ClientError
from steersman.controllers.manager.assembly import assemble
from steersman.controllers.manager.identities import Identities, OneIdentity, ServiceAccounts
from steersman.controlplane.process import EXIT_REFUSED, StopReasons
from steersman.runtime.http import ListenError
from steersman.runtime.manager import LeadershipLost

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.asynckit.clock import Clock
    from steersman.controllers.manager.options import ManagerOptions
    from steersman.controlplane.component_serving import Serving
    from steersman.runtime.manager import Manager

_log = logging.getLogger(__name__)

#: Exit code after a loss of leadership, or a permanent failure of a controller.
EXIT_ENDED: Final = 1
#: Delays before a component restarts after losing its lease.
_RESTART: Final = BackoffPolicy(0.5, 30.0)
#: Length of a run that resets the delay.
_STEADY_SECONDS: Final = 60.0


async def run_controller_manager(
    options: ManagerOptions, *, parent_pipe: int | None = None, serving: Serving | None = None
) -> int:
    """Run until there is a reason to stop, or leadership is lost; return the exit code. Without ``serving`` there is no HTTPS.
    A graceful stop waits for running reconciles, then releases the lease.
    """
    from steersman.controlplane.component_metrics import add_component_metrics  # noqa: PLC0415 — ``up`` does without
    from steersman.controlplane.component_serving import add_secure_server  # noqa: PLC0415 — ``up`` does without

    identity = options.leader_elect_identity or f"{socket.gethostname()}_{uuid.uuid4()}"

    async def make(stack: AsyncExitStack) -> Manager:
        identities = make_identities(options, clock=RealClock())
        stack.push_async_callback(identities.close)
        manager = await assemble(options, identities, identity=identity)
        gates = {"CoordinatedLeaderElection": options.coordinated_leader_election}
        add_component_metrics(identities.metrics.registry, gates=gates)
        await add_secure_server(manager, serving, stack)
        return manager

    return await run_component(make, parent_pipe=parent_pipe, restarts=options.leader_elect_restart)


async def run_component(
    make: Callable[[AsyncExitStack], Awaitable[Manager]], *, parent_pipe: int | None, restarts: bool = False
) -> int:
    """Run a manager until there is a reason to stop; return the exit code.

    A process that has lost its Lease exits with 1, as upstream, for its supervisor to restart it. With ``restarts`` it
    replaces that supervisor: it recreates everything and contends for the Lease again.
    """
    reasons = StopReasons()
    reasons.listen()
    if parent_pipe is not None:
        reasons.follow_pipe(parent_pipe)
    stop = asyncio.create_task(reasons.wait(), name="reason to stop")
    backoff = Backoff(_RESTART)
    try:
        while True:
            started = time.monotonic()
            try:
                async with AsyncExitStack() as stack:
                    return await _make_and_run(make, stack, stop, reasons)
            except LeadershipLost as error:
                _log.error("%s", error)
                if not restarts:
                    return EXIT_ENDED
            if time.monotonic() - started >= _STEADY_SECONDS:
                backoff.reset()
            _log.info("starting again, to contend for the lease")
            await asyncio.wait([stop], timeout=backoff.next_seconds())
    except (ClientError, OSError, ValueError) as error:
        sys.stderr.write(f"steersman: {error}\n")
        return EXIT_REFUSED
    finally:
        stop.cancel()


async def _make_and_run(
    make: Callable[[AsyncExitStack], Awaitable[Manager]],
    stack: AsyncExitStack,
    stop: asyncio.Task[None],
    reasons: StopReasons,
) -> int:
    making = asyncio.ensure_future(make(stack))
    await asyncio.wait([stop, making], return_when=asyncio.FIRST_COMPLETED)
    if not making.done():
        making.cancel()
        await asyncio.wait([making])
        return 0
    return await _run_until_stopped(making.result(), stop, reasons)


async def _run_until_stopped(manager: Manager, stop: asyncio.Task[None], reasons: StopReasons) -> int:
    """Run a manager until there is a reason to stop. Raises LeadershipLost if another process leads, ListenError for a port in
    use. The loss of a Lease during the stop is no error, as upstream.
    """
    running = asyncio.create_task(manager.run(), name="controllers")
    await asyncio.wait([running, stop], return_when=asyncio.FIRST_COMPLETED)
    is_stopping = not running.done()
    if is_stopping:
        manager.stop()
        second_reason = asyncio.create_task(reasons.wait_for_second(), name="second reason to stop")
        await asyncio.wait([running, second_reason], return_when=asyncio.FIRST_COMPLETED)
        second_reason.cancel()
        if not running.done():
            running.cancel()
            await asyncio.wait([running])
            return 0
    try:
        await running
    except ListenError:
        raise
    except Exception as error:
        lost = error.subgroup(LeadershipLost) if isinstance(error, ExceptionGroup) else None
        if isinstance(error, LeadershipLost) or lost is not None:
            if is_stopping:
                return 0
            raise LeadershipLost(str(error if lost is None else leaves(lost)[0])) from error
        _log.exception("a controller failed for good")
        return EXIT_ENDED
    return 0


def leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """Return the errors of a group and of the groups in it."""
    return [
        leaf
        for error in group.exceptions
        for leaf in (leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    ]


def make_identities(options: ManagerOptions, *, clock: Clock) -> Identities:
    """Return the identities: the kubeconfig's user, or a service account per controller. Raises ConfigError."""
    access = find_access(options.kubeconfig, server=options.master)
    if options.use_service_account_credentials:
        return ServiceAccounts(access, options, clock=clock)
    return OneIdentity(AiohttpTransport(access), options, clock=clock)
