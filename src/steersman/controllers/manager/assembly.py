"""Construction of a manager from options: selected controllers, their identities and shared parts."""

from __future__ import annotations

import asyncio
import logging
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import msgspec
from prometheus_client import CollectorRegistry, Gauge

from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.asynckit.stopping import run_unless_stopped
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import Timeout
from steersman.client import drop_managed_fields
from steersman.client.credentials import ConfigError
from steersman.client.errors import ClientError
from steersman.controllers.context import ControllerContext
from steersman.controllers.entry_points import RegistryError
from steersman.controllers.manager.leader_migration import Assignment, read_leader_migration
from steersman.controllers.registry import CLOUD_CONTROLLERS, is_enabled, registered
from steersman.controllers.shared.served import discover
from steersman.runtime.controller import Controller
from steersman.runtime.elected_group import add_elected_group
from steersman.runtime.health import Unhealthy
from steersman.runtime.leader_election import elector_for
from steersman.runtime.manager import Manager, R

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from steersman.asynckit.clock import Clock
    from steersman.client import Client
    from steersman.controllers.manager.identities import Identities
    from steersman.controllers.manager.leader_migration import LeaderMigration
    from steersman.controllers.manager.options import ManagerOptions
    from steersman.controllers.registry import Registration
    from steersman.controllers.shared.served import ServedResources

_log = logging.getLogger(__name__)

#: Seconds for which an unreachable server is retried. Upstream: ``WaitForAPIServer``.
SERVER_WAIT_SECONDS: Final = 10.0
#: Time for events that are recorded during the stop to be written.
_FLUSH_SECONDS: Final = 5.0
#: Name of kube-controller-manager in metrics.
MANAGER: Final = "kube-controller-manager"
_RETRY: Final = BackoffPolicy(0.05, 1.0)
#: Gauge of each metrics registry that has one.
_RUNNING: Final[WeakKeyDictionary[CollectorRegistry, Gauge]] = WeakKeyDictionary()


class Managed:
    """A controller and its event broadcaster, run together by the manager."""

    def __init__(
        self, registration: Registration, controller: Controller, context: ControllerContext, *, running: Gauge
    ) -> None:
        self.name: Any = registration.name
        self._running = running.labels(registration.name, MANAGER)
        self._controller = controller
        self._context = context
        self._delay_seconds = 0.0
        self._ended = False
        self._stop_requested = asyncio.Event()

    def start_after(self, seconds: float) -> None:
        """Delay the start by this time."""
        self._delay_seconds = seconds

    @property
    def is_ready(self) -> bool:
        """Report whether the controller is ready."""
        return self._controller.is_ready

    async def run(self) -> None:
        """Run until ``stop`` or cancellation."""
        if self._delay_seconds:
            delay = self._context.clock.sleep(self._delay_seconds)
            if not await run_unless_stopped(delay, self._stop_requested):
                return
        writer = Supervisor(self.name)
        events = self._context.events
        writer.start("events", events.run())
        self._running.set(1)
        try:
            await self._controller.run()
            await self._flush()
        finally:
            self._running.set(0)
            self._ended = True
            await writer.close()

    async def _flush(self) -> None:
        try:
            async with Timeout(_FLUSH_SECONDS, clock=self._context.clock):
                await self._context.events.flush()
        except TimeoutError:
            _log.warning("%s: some events could not be written", self.name)

    def stop(self) -> None:
        """Finish work in progress."""
        self._stop_requested.set()
        self._controller.stop()

    def check(self) -> None:
        """Raise ``Unhealthy`` if the controller has ended; one that is not started is healthy. For ``/healthz``."""
        if self._ended:
            raise Unhealthy("it has ended")


async def wait_for_server(client: Client, *, seconds: float | None = SERVER_WAIT_SECONDS) -> ServedResources:
    """Return the served resources, with retries until the server responds for each group version if possible.

    Raises the last ``ClientError`` after ``seconds`` (None: never, as in kubelets and schedulers), and a ``ConfigError`` always
    after ``SERVER_WAIT_SECONDS``, because unreadable credentials do not depend on the server.
    """
    backoff, clock, logged = Backoff(_RETRY), client.clock, ""
    started = clock.monotonic()
    _log.info("waiting until the server says what it serves")
    while True:
        try:
            served = await discover(client)
        except ClientError as error:
            limit = SERVER_WAIT_SECONDS if seconds is None and isinstance(error, ConfigError) else seconds
            if limit is not None and clock.monotonic() - started >= limit:
                raise
            level = logging.INFO if str(error) == logged else logging.WARNING
            logged = str(error)
            _log.log(level, "the server does not answer yet: %s", error)
        else:
            if not served.interrupted or clock.monotonic() - started >= SERVER_WAIT_SECONDS:
                return served
            _log.info("the server does not answer yet for %s", ", ".join(sorted(served.interrupted)))
        await clock.sleep(backoff.next_seconds())


def missing(entry: Registration, resources: Container[str]) -> list[str]:
    """Return the needed resources of the controller that are not among the served ``resources``."""
    return [need for need in entry.needs if need not in resources]


def resources_of(served: ServedResources) -> frozenset[str]:
    """Return each ``group/version resource``, the format of ``Registration.needs``."""
    return frozenset(f"{api_version} {resource.info.name}" for (api_version, _), resource in served.kinds.items())


def selected(options: ManagerOptions, resources: Container[str]) -> Iterable[Registration]:
    """Return the controllers to run with the served ``resources``; enabled ones that cannot run are logged."""
    for entry in registered():
        if not is_enabled(entry, options.controllers):
            _log.info("controller %s is off", entry.name)
        elif entry.name in CLOUD_CONTROLLERS:
            level = logging.WARNING if entry.name in options.controllers else logging.INFO
            _log.log(level, "controller %s is skipped: a cloud-controller-manager runs it", entry.name)
        elif not entry.is_available:
            level = logging.WARNING if entry.name in options.controllers else logging.INFO
            _log.log(level, "controller %s is not part of this release", entry.name)
        elif missing_resources := missing(entry, resources):
            level = logging.WARNING if entry.name in options.controllers else logging.INFO
            _log.log(
                level,
                "controller %s is skipped: the server does not serve %s",
                entry.name,
                ", ".join(missing_resources),
            )
        else:
            yield entry


async def assemble(
    options: ManagerOptions, identities: Identities, *, identity: str, dice: Random | None = None
) -> Manager:
    """Return a manager with its controllers, not started. ``identity``: of this process in leader election.

    Raises ClientError if the server does not respond, ValueError for invalid options.
    """
    dice = dice or Random()  # noqa: S311 — jitter
    root = identities.root()
    served = await wait_for_server(root, seconds=None if options.leader_elect_restart else SERVER_WAIT_SECONDS)
    manager = Manager(
        root,
        dice=dice,
        metrics=identities.metrics,
        elector=(lambda context: elector_for(options, context, identity=identity, component=MANAGER))
        if options.leader_elect
        else None,
        health_host=options.address,
        health_port=options.port or None,
        transform=drop_managed_fields,
        resync_seconds=options.min_resync_period_seconds * (1 + dice.random()) or None,
        shutdown_grace_seconds=options.controller_shutdown_timeout_seconds,
    )
    migration = None
    if options.leader_elect and options.enable_leader_migration:
        configuration = read_leader_migration(options.leader_migration_config)
        # The lock of a migration is shared with components that do not take part in coordinated elections.
        lock = msgspec.structs.replace(
            options, leader_elect_resource_name=configuration.leader_name, coordinated_leader_election=False
        )
        elector = elector_for(lock, manager.context, identity=identity, component=MANAGER)
        group = add_elected_group(manager, elector, check="leaderElection-migration", title="migration ")
        migration = Migration(configuration, group)
    add_controllers(manager, options, identities, served, migration=migration)
    return manager


class Migration(NamedTuple):
    """A leader migration, and the group that runs the controllers it assigns to this component."""

    configuration: LeaderMigration
    group: Group

    def group_of(self, entry: Registration, main: Group) -> Group | None:
        """Return the group that runs a controller; None if another component does."""
        assignment = self.configuration.assignment(entry)
        if assignment is Assignment.UNOWNED:
            _log.info("controller %s is skipped: the leader migration assigns it to another component", entry.name)
            return None
        return self.group if assignment is Assignment.MIGRATED else main


class Group(Protocol):
    """Interface of the runner of added runnables; a ``Manager`` is one."""

    def add(self, runnable: R) -> R:
        """Add a runnable."""


def add_controllers(
    manager: Manager,
    options: ManagerOptions,
    identities: Identities,
    served: ServedResources,
    *,
    group: Group | None = None,
    migration: Migration | None = None,
    clocks: Mapping[str, Clock] | None = None,
) -> None:
    """Build each selected controller with its own identity and shared informers. ``group`` runs them; None for the manager
    itself. Controllers of a ``migration`` run in its group, or not at all. ``clocks``: clocks by controller name, in place of
    the clients' clock.
    """
    main = manager if group is None else group
    shared, delay_seconds, resources = manager.context, 0.0, resources_of(served)
    for entry in selected(options, resources):
        runs = main if migration is None else migration.group_of(entry, main)
        if runs is None:
            continue
        context = ControllerContext(
            identities.client(entry.service_account),
            name=entry.name,
            options=options,
            dice=shared.dice,
            metrics=shared.metrics,
            informers=shared.informers,
            served=resources,
        )
        if clocks is not None and entry.name in clocks:
            context = context.on_clock(clocks[entry.name])
        managed = add_controller(manager, entry, context, group=runs)
        if managed is None:
            _log.info("controller %s has nothing to do", entry.name)
            continue
        managed.start_after(delay_seconds)
        delay_seconds += options.controller_start_interval_seconds


def add_controller(
    manager: Manager, entry: Registration, context: ControllerContext, *, group: Group | None = None
) -> Managed | None:
    """Build a controller and add it with its health check; return None if the options disable it. ``group`` runs it; None for
    the manager itself. Raises RegistryError for a controller of another package that cannot
    be built.
    """
    controller = _build(entry, context)
    if controller is None:
        return None
    managed = (group or manager).add(
        Managed(entry, controller, context, running=_running_gauge(context.metrics.registry))
    )
    manager.healthz.add(entry.name, managed.check)
    return managed


def _build(entry: Registration, context: ControllerContext) -> Controller | None:
    build = entry.build
    if entry.installed is None:
        return build(context)
    prefix = f"controller {entry.name} of {entry.installed.package}"
    try:
        controller: Any = build(context)
    except Exception as error:
        raise RegistryError(f"{prefix} cannot be built: {type(error).__name__}: {error}") from error
    if controller is not None and not isinstance(controller, Controller):
        if asyncio.iscoroutine(controller):
            controller.close()
        raise RegistryError(f"{prefix} cannot be built: expected a Controller or None, got {type(controller).__name__}")
    built: Controller | None = controller
    return built


def _running_gauge(registry: CollectorRegistry) -> Gauge:
    gauge = _RUNNING.get(registry)
    if gauge is None:
        gauge = _RUNNING[registry] = Gauge(
            "running_managed_controllers", "1 for each controller that runs", ("name", "manager"), registry=registry
        )
    return gauge
