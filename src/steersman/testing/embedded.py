"""Whole control plane on the running event loop: API server, controllers, scheduler and simulated nodes.

Upstream: controller-runtime's ``envtest``, which runs no controllers and has no virtual time.
"""

from __future__ import annotations

import logging
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import msgspec

from steersman.client import Client
from steersman.client.reflector import ReflectorOptions
from steersman.controllers.registry import unknown
from steersman.controlplane.bootstrap.loop_options import LoopOptions
from steersman.controlplane.core import ServerCore
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.controlplane.option_checks import check_options
from steersman.controlplane.options import APIServerOptions
from steersman.controlplane.resources import HEARTBEAT_PREFIXES
from steersman.nodes.options import NodesOptions
from steersman.runtime.reconcile_log import recording
from steersman.scheduler.options import Setup, set_up
from steersman.storage.memory import MemoryStore
from steersman.testing.application import ClusterApplication, identify, stale_reads
from steersman.testing.clock import SteadyClock, VirtualClock
from steersman.testing.embedded_components import make_components
from steersman.testing.errors import ClusterError
from steersman.testing.fault_control import Faults
from steersman.testing.idle import IdleDetector
from steersman.testing.node_failures import NodeFailures, PodFailures
from steersman.testing.observation import Observation
from steersman.testing.reconciles import HOT_COUNT, HOT_SECONDS
from steersman.testing.references import read_reference
from steersman.testing.running_components import RunningComponents
from steersman.testing.running_controller import RunningController
from steersman.testing.store_view import StoreView
from steersman.testing.task_driver import TaskDriver
from steersman.testing.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from steersman.controllers.manager.options import ManagerOptions
    from steersman.controlplane.bootstrap.public_address import PublicEndpoint
    from steersman.runtime.context import ControllerContext
    from steersman.runtime.manager import Runnable
    from steersman.scheduler.out_of_tree import PluginFactory
    from steersman.storage.dump import StoreDump
    from steersman.storage.store import Store
    from steersman.testing.embedded_components import Components
    from steersman.testing.history import Version
    from steersman.testing.links import Link
    from steersman.testing.trace import RequestRecord

_log: Final = logging.getLogger(__name__)

#: Options of informers on a virtual clock: a skipped day must not cost a day of bookmarks and resumed watches.
QUIET_REFLECTOR: Final = ReflectorOptions(
    streaming_list=False, bookmarks=False, idle_seconds=None, watch_seconds=30 * 86400.0
)
#: Factor of the periods of the API server's loops on a virtual clock, for the same reason.
VIRTUAL_PERIOD_FACTOR: Final = 300.0
#: User agent of the test's own requests.
_TEST_AGENT: Final = "embedded-test"


class EmbeddedCluster:
    """Control plane that runs inside ``async with``, or between ``start`` and ``stop``.

    All components run on the event loop of the caller and reach the API server through ``app``, without a socket.
    """

    def __init__(
        self,
        *,
        nodes: int | NodesOptions = 1,
        controllers: Sequence[str] | None = None,
        scheduler: bool = True,
        clock: Literal["virtual", "real"] | VirtualClock | SteadyClock = "real",
        seed: int | None = None,
        store: Store | None = None,
        snapshot: StoreDump | None = None,
        feature_gates: Mapping[str, bool] | None = None,
        options: APIServerOptions | None = None,
        manager_options: ManagerOptions | None = None,
        reflector: ReflectorOptions | None = None,
        configure: Callable[[ServerCore], None] | None = None,
        scheduler_plugins: Mapping[str, PluginFactory] | None = None,
        scheduler_config: Mapping[str, Any] | None = None,
    ) -> None:
        """Create a cluster.

        ``nodes`` is the number of simulated nodes, ``controllers`` are names as for ``--controllers`` (None for the defaults,
        an empty list for no controller manager). ``seed`` decides names, UIDs, jitter and probabilities.
        ``store`` is closed by ``stop``; the default is a new store in memory, filled from ``snapshot``. ``reflector``
        configures the informers of the components; by default they open watches rarely if the clock is virtual.
        ``configure`` is called with each new API server before it starts, e.g. to set certificate authorities for a
        listener. ``scheduler_plugins`` are scheduler plugins by name; the default profile enables them, unless
        ``scheduler_config`` has fields of a ``KubeSchedulerConfiguration``. Raises ``ClusterError`` for an unknown controller
        and an invalid configuration of the scheduler.
        """
        if isinstance(clock, str):
            clock = VirtualClock() if clock == "virtual" else SteadyClock()
        self.clock: Final[VirtualClock | SteadyClock] = clock
        self._dice: Random | None = None if seed is None else Random(seed)  # noqa: S311 — names and faults
        #: ASGI application with all endpoints, for clients and listeners; it persists across restarts.
        self.app: Final = ClusterApplication(clock, self._new_dice())
        self.store: Final[Store] = store or MemoryStore(clock=clock, squash_prefixes=HEARTBEAT_PREFIXES)
        #: Faults of requests and watches.
        self.faults: Final = Faults(self.app)
        self.observation: Final = Observation(self.app, clock)
        #: Running API server.
        self.core: ServerCore
        # Requests take no virtual time, so fairness has no effect.
        options = options or APIServerOptions(ephemeral=True, enable_priority_and_fairness=not clock.is_virtual)
        self.options = msgspec.structs.replace(
            options, feature_gates={**options.feature_gates, **(feature_gates or {})}
        )
        #: Failures of simulated nodes and pods.
        self.nodes: Final = NodeFailures(lambda: self.client(_TEST_AGENT))
        self.pods: Final = PodFailures(lambda: self.client(_TEST_AGENT))
        self._nodes = NodesOptions(nodes=nodes, pod_events=False) if isinstance(nodes, int) else nodes
        self._controllers = None if controllers is None else _checked(controllers)
        self._has_scheduler = scheduler
        self._scheduler_setup = _scheduler_setup(scheduler_plugins or {}, scheduler_config)
        self._manager_options = manager_options
        self._reflector = reflector or (QUIET_REFLECTOR if clock.is_virtual else None)
        self._configure = configure
        self._snapshot = snapshot
        self._controllers_of_test: list[RunningController] = []
        self._is_started = False
        self._idle: IdleDetector
        self._driver: TaskDriver
        self._components: RunningComponents
        self._waits: Waits

    def _new_dice(self) -> Random:
        """Return dice of the seed; without a seed the system's, which processes do not share after a fork."""
        return SystemRandom() if self._dice is None else Random(self._dice.random())  # noqa: S311 — names, faults, jitter

    # Lifecycle

    async def start(self) -> Self:
        """Start the cluster; return when the API server is ready, the components run and a node is Ready."""
        if self._is_started:
            raise ClusterError("the cluster is started already")
        self._watch_loop()
        if self._snapshot is not None:
            self._memory_store().load(self._snapshot)
            if self._dice is not None:
                # The cluster of the snapshot may have used the same seed, so the next UIDs may be in use.
                self._dice.seed(f"{self._dice.random()} {self._snapshot.revision}")
            self._snapshot = None
        await self.observation.follow(self.store)
        for warning in check_options(self.options):
            _log.warning("%s", warning)
        self._is_started = True
        try:
            await self._start()
            self._waits.follows_outside = True
        except BaseException:
            await self.stop()
            raise
        return self

    def _watch_loop(self) -> None:
        """Prepare the running loop for settling; once, because restarts use the same loop."""
        if hasattr(self, "_waits"):
            return
        self._idle = IdleDetector()
        self._driver = TaskDriver(self.clock, self._idle)
        self._components = RunningComponents(self._make_components, app=self.app, clock=self.clock, driver=self._driver)
        self._waits = Waits(
            idle=self._idle,
            clock=self.clock,
            store=self.store,
            observation=self.observation,
            catalog=lambda: self.core.catalog,
        )
        self._use_executor(self._idle)
        if isinstance(self.clock, VirtualClock):
            self.clock.use(self._waits.settle_instant)
            self.clock.skip_quiet_stretches(
                lambda: self.observation.history.total_news, may_skip=lambda: not self.app.needs_heartbeats
            )

    def _use_executor(self, idle: IdleDetector) -> None:
        """Replace the executor of the loop by one whose calls ``settle`` can observe."""
        if self.clock.is_virtual:
            idle.use_executor()

    async def _start(self) -> None:
        await self._driver.run(self._start_server(), "the API server")
        await self._components.start()

    async def _start_server(self) -> None:
        self.core = core = ServerCore(
            self.options,
            StoreView(self.store, on_commit=self.observation.committed),
            clock=self.clock,
            with_bootstrap_controller=True,
            loop_options=self._loop_options(),
            filters=[identify, stale_reads(lambda: self.core.resources.registry)],
            dice=self._new_dice(),
        )
        core.defaults.makes_service_accounts = self._has_controller_manager
        if self._configure is not None:
            self._configure(core)
        await core.start()
        self.app.server = core.app

    def _loop_options(self) -> LoopOptions:
        dice = self._new_dice()
        if self.clock.is_virtual:
            return LoopOptions(period_factor=VIRTUAL_PERIOD_FACTOR, reflector=QUIET_REFLECTOR, dice=dice)
        return LoopOptions(dice=dice)

    @property
    def _has_controller_manager(self) -> bool:
        return self._controllers is None or bool(self._controllers)

    async def _make_components(self, link: Link) -> Components | None:
        """Return new components; None if the cluster has none."""
        if not (self._has_controller_manager or self._has_scheduler or self._nodes.templates()):
            return None
        self.observation.reconciles.forget_queues()
        with recording(self.observation.reconciles):
            return await make_components(
                self._transport_through(link),
                clock=self.clock,
                dice=self._new_dice(),
                controllers=self._controllers,
                scheduler=self._scheduler_setup if self._has_scheduler else None,
                nodes=self._nodes,
                options=self._manager_options,
                reflector=self._reflector,
            )

    async def continue_forked(self, endpoint: PublicEndpoint | None, options: APIServerOptions) -> None:
        """Continue in a forked process with new ports and threads.

        ``endpoint`` is published from now on, and ``options`` are those of ``restart``.
        """
        self._check_started()
        self.options = msgspec.structs.replace(options, feature_gates=self.options.feature_gates)
        self._use_executor(self._idle)
        if self._dice is None:
            self.core.resources.registry.identities.draw_again()
        await self._driver.run(self._move(endpoint), "the forked cluster")

    async def _move(self, endpoint: PublicEndpoint | None) -> None:
        if self.core.bootstrap is not None:
            await self.core.bootstrap.move_endpoint(endpoint)
        if self._components.nodes is not None:
            await self._components.nodes.listen_elsewhere()

    async def stop(self) -> None:
        """Stop gracefully and close the store. Idempotent."""
        if self._is_started:
            await self._stop(in_order=True)
        self.observation.history.close()
        await self.store.close()

    async def crash(self) -> None:
        """Stop all components as ``kill -9`` would: connections break, requests in flight may or may not take effect."""
        self._check_started()
        await self._stop(in_order=False)

    async def restart(self) -> None:
        """Crash, unless crashed already, and start again on the same store."""
        if self._is_started:
            await self.crash()
        await self.start()

    async def restart_components(
        self,
        *,
        crash: bool = True,
        controllers: Sequence[str] | None = None,
        manager_options: ManagerOptions | None = None,
    ) -> None:
        """Restart controllers, scheduler and nodes, but not the API server and the test's own controllers. They stop as by
        ``kill -9`` if ``crash``, otherwise gracefully. ``controllers`` and ``manager_options`` replace those of
        the cluster. Returns when the components run; ``settle`` and ``wait_for`` wait for their work. Raises the error that
        ended them before, if any, and ``ClusterError`` for an unknown controller.
        """
        self._check_started()
        if controllers is not None:
            self._controllers = _checked(controllers)
        self._manager_options = manager_options or self._manager_options
        if not crash:
            await self._components.stop()
        await self._components.kill()
        await self._components.launch()

    async def _stop(self, *, in_order: bool) -> None:
        self._is_started = False
        self._waits.follows_outside = False
        if isinstance(self.clock, VirtualClock):
            self.clock.pause()
        core: ServerCore | None = getattr(self, "core", None)
        for controller in self._controllers_of_test:
            await controller.stop()
        self._controllers_of_test.clear()
        if in_order:
            await self._components.stop()
            if core is not None:
                core.begin_shutdown()
                await self._driver.run(core.run_pre_shutdown_hooks(), "the pre-shutdown hooks")
        self.app.server = None
        self.app.abort_all()
        await self._idle.wait()
        await self._components.kill()
        if core is not None:
            core.end_watches()
            await core.close()
            del self.core

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _check_started(self) -> None:
        if not self._is_started:
            raise ClusterError("the cluster is not running: start it, or restart it after a crash")

    # Clients

    def client(self, user_agent: str = _TEST_AGENT, *, user: str = "", groups: Sequence[str] = ()) -> Client:
        """Return a client without limits: as a member of ``system:masters``, or as ``user`` with ``groups``."""
        return Client(self._transport(user, groups), clock=self.clock, user_agent=user_agent)

    async def run_controller(
        self, make: Callable[[ControllerContext], Runnable], *, user_agent: str = "test-controller"
    ) -> RunningController:
        """Run a controller of the toolkit on this loop until ``stop``; return once it runs.

        ``make`` constructs it from its context. It ends when the cluster stops or crashes.
        """
        self._check_started()
        running = RunningController(
            make,
            lambda link: Client(self._transport_through(link), clock=self.clock, user_agent=user_agent),
            app=self.app,
            dice=self._new_dice(),
            recorder=self.observation.reconciles,
            reflector=self._reflector,
            driver=self._driver,
        )
        self._controllers_of_test.append(running)
        await running.start()
        return running

    def _transport_through(self, link: Link) -> LoopbackTransport:
        return LoopbackTransport(self.core.client.through(link.serve))

    def _transport(self, user: str = "", groups: Sequence[str] = ()) -> LoopbackTransport:
        self._check_started()
        headers = [("impersonate-user", user)] if user else []
        headers += [("impersonate-group", group) for group in groups]
        return LoopbackTransport(self.core.client.through(self.app, headers=headers))

    # Waits

    async def settle(self, timeout: float = 60.0, *, quiet_seconds: float | None = None) -> None:  # noqa: ASYNC109 — of another clock
        """Wait until caches, queues and requests are idle and no timer is due; time does not pass.

        ``timeout`` is real time. Clients in other processes count as settled after ``quiet_seconds`` (default: those of the
        clock) without a request or a watch event. Raises ``SettleError``, which lists the remaining work.
        """
        self._check_started()
        await self._components.wait_started()
        await self._waits.settle(
            timeout, quiet_seconds=self.clock.quiet_seconds if quiet_seconds is None else quiet_seconds
        )

    async def wait_for(
        self,
        reference: str,
        condition: str,
        *,
        namespace: str = "default",
        timeout: float = 60.0,  # noqa: ASYNC109 — of another clock
    ) -> dict[str, Any]:
        """Wait until an object has a condition of ``kubectl wait`` and return it: ``wait_for("deployment/web",
        "condition=Available")``.

        Virtual time advances meanwhile; ``timeout`` is time of the cluster's clock. Raises ``WaitError`` with the history of
        the object, ``BadReference``, ``BadCondition``.
        """
        self._check_started()
        return await self._waits.wait_for(reference, condition, namespace=namespace, timeout_seconds=timeout)

    async def eventually(self, predicate: Callable[[], Any], *, timeout: float = 60.0) -> Any:  # noqa: ASYNC109 — of another clock
        """Return the first true result of a function or coroutine function. Raises ``WaitError``; see ``wait_for``."""
        self._check_started()
        return await self._waits.eventually(predicate, timeout_seconds=timeout)

    # Observations

    def recording(self) -> AbstractContextManager[None]:
        """Record the reconciles of controllers constructed in the block, in addition to those of the cluster."""
        return recording(self.observation.reconciles)

    def requests(self, **patterns: Any) -> list[RequestRecord]:
        """Return the latest requests that match ``user``, ``user_agent``, ``verb``, ``resource``, ``name``, ``code``."""
        return self.observation.requests(**patterns)

    def history(self, reference: str, *, namespace: str = "default") -> list[Version]:
        """Return the versions of an object, oldest first, with their writers. Raises ``BadReference``."""
        self._check_started()
        return self.observation.versions(read_reference(reference, self.core.catalog, namespace=namespace).key)

    def rights_used(self, user: str) -> list[dict[str, Any]]:
        """Return the minimal rules of a ClusterRole that allow all requests of a user so far."""
        return self.observation.rights_used(user)

    async def assert_quiet(self, seconds: float) -> None:
        """Advance time. Raises AssertionError listing the writes meanwhile, except heartbeats."""
        self._check_started()
        await self._waits.assert_quiet(seconds)

    def assert_no_hot_loop(self, *, count: int = HOT_COUNT, seconds: float = HOT_SECONDS) -> None:
        """Raise AssertionError if a key was reconciled at least ``count`` times within ``seconds``."""
        loops = self.observation.hot_loops(count=count, seconds=seconds)
        if loops:
            raise AssertionError("\n".join(map(str, loops)))

    # Snapshots

    def snapshot(self) -> StoreDump:
        """Return the state of the store in memory, for ``snapshot`` of a new cluster or ``rewind``."""
        return self._memory_store().dump()

    async def rewind(self, snapshot: StoreDump, *, waits: bool = True) -> None:
        """Replace all objects by those of a snapshot; watches end with 410, resource versions do not repeat.

        The API server keeps running; the components restart, because their memory of removed objects would be wrong.
        Without ``waits`` they start in the background, and ``settle`` waits for them.
        """
        self._check_started()
        store = self._memory_store()
        await self._components.kill()
        store.load(snapshot)
        await self.observation.follow(store)
        if waits:
            await self._components.start()
        else:
            self._components.start_in_background()

    def _memory_store(self) -> MemoryStore:
        if not isinstance(self.store, MemoryStore):
            raise ClusterError("snapshots need the store in memory")
        return self.store


def _checked(controllers: Sequence[str]) -> Sequence[str]:
    """Return names of controllers. Raises ``ClusterError`` for an unknown one."""
    if unknown_names := unknown(controllers):
        raise ClusterError(f'controllers: "{unknown_names[0]}" is not in the list of known controllers')
    return controllers


def _scheduler_setup(plugins: Mapping[str, Any], configuration: Mapping[str, Any] | None) -> Setup:
    """Return the scheduler's settings. Raises ``ClusterError``."""
    setup = set_up()
    if not plugins and configuration is None:
        return setup
    from steersman.scheduler.configuration.errors import ConfigurationError  # noqa: PLC0415 — few tests have these
    from steersman.scheduler.configuration.loading import with_plugins  # noqa: PLC0415 — as above

    try:
        loaded = with_plugins(plugins, None if configuration is None else dict(configuration))
    except ConfigurationError as error:
        raise ClusterError(f"scheduler_config: {error}") from None
    return setup._replace(settings=loaded.settings)
