"""Manager: runs controllers with shared client, informers, Lease and health pages, and stops them in order."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from steersman.apimachinery.metric_filter import NO_FILTER
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import wait_for
from steersman.client.leaderelection import LeaderElector, TermEnd
from steersman.runtime.context import ControllerContext
from steersman.runtime.health import Health, HealthcheckMetrics, Unhealthy
from steersman.runtime.http import HttpServer, Page
from steersman.runtime.metrics_page import exposition

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from random import Random

    from steersman.client import Client
    from steersman.client.reflector import ReflectorOptions
    from steersman.runtime.metrics import RuntimeMetrics

_log = logging.getLogger(__name__)

_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
#: Time for running reconciles to end. Upstream: controller-runtime's ``GracefulShutdownTimeout``.
SHUTDOWN_GRACE_SECONDS: Final = 30.0
#: Time for events that are recorded during the stop to be written.
_FLUSH_SECONDS: Final = 5.0


class Runnable(Protocol):
    """Interface of the parts of a manager; ``Controller`` implements it."""

    @property
    def name(self) -> str:
        """Name in logs."""

    @property
    def is_ready(self) -> bool:
        """Report whether it is working."""

    async def run(self) -> None:
        """Run until ``stop`` or cancellation. An exception stops the manager."""

    def stop(self) -> None:
        """Finish work in progress, then return from ``run``."""


R = TypeVar("R", bound=Runnable)


class LeadershipLost(Exception):  # noqa: N818 — named by the condition
    """Another process leads. Restart the process, because controllers run only once."""


class Manager:
    """Add controllers, then ``run``. The parts end in the opposite order of their start.

    With an elector the controllers run only while this process leads; their informers are started then, or immediately with
    ``warm_standby``. Served when ``health_port`` (0: any free one, see ``health_port``) or ``health_socket``, the path of a
    Unix socket, is given: ``/healthz``, ``/livez``, ``/readyz`` and ``/metrics``, without authentication; so by default on
    the loopback address only. ``add_server`` serves them by HTTPS with authentication as well.

    ``elector`` may be a function of the manager's context, for a lock that records events.
    """

    def __init__(
        self,
        client: Client,
        *,
        dice: Random | None = None,
        metrics: RuntimeMetrics | None = None,
        elector: LeaderElector | Callable[[ControllerContext], LeaderElector] | None = None,
        warm_standby: bool = False,
        health_host: str = "127.0.0.1",
        health_port: int | None = None,
        health_socket: str = "",
        transform: Callable[[Any], Any] | None = None,
        resync_seconds: float | None = None,
        reflector: ReflectorOptions | None = None,
        shutdown_grace_seconds: float = SHUTDOWN_GRACE_SECONDS,
    ) -> None:
        self.context: Final = ControllerContext(
            client,
            dice=dice,
            metrics=metrics,
            transform=transform,
            resync_seconds=resync_seconds,
            reflector=reflector,
        )
        #: Metrics and label values that ``/metrics`` leaves out.
        self.metric_filter = NO_FILTER
        self._slis: Final = HealthcheckMetrics()
        self.healthz: Final = Health("healthz", self._slis)
        self.livez: Final = Health("livez", self._slis)
        self.readyz: Final = Health("readyz", self._slis)
        self._clock = client.clock
        self._elector = elector if elector is None or isinstance(elector, LeaderElector) else elector(self.context)
        self._warm_standby = warm_standby
        self._grace = shutdown_grace_seconds
        #: Contexts of the runnables, the manager's own first.
        self._contexts = [self.context]
        self._runnables: list[Runnable] = []
        #: Name and coroutine of tasks that do not depend on leadership.
        self._background: list[tuple[str, Callable[[], Coroutine[Any, Any, None]]]] = []
        self._failure: BaseException | None = None
        self._stop = asyncio.Event()
        self._working = False
        self._server: HttpServer | None = None
        #: All servers of the pages, including the one above.
        self._servers: list[HttpServer] = []
        if health_socket:
            self._server = HttpServer(socket_path=health_socket, clock=self._clock)
        elif health_port is not None:
            self._server = HttpServer(host=health_host, port=health_port, clock=self._clock)
        self._serve_pages()

    def add(self, runnable: R) -> R:
        """Add a runnable, before ``run``; return it."""
        self._runnables.append(runnable)
        return runnable

    def add_context(self, context: ControllerContext) -> None:
        """Start, flush and close the event broadcaster and the informers of another identity with the manager's own.

        They outlive the runnables, which may use them until they have ended.
        """
        self._contexts.append(context)

    def add_background(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Add a task that runs whether or not this process leads, e.g. a ``LeaseCandidate`` or a heartbeat.

        A manager of such tasks alone runs until it is stopped. A task's exception stops the manager and is raised by ``run``.
        """
        self._background.append((name, work))

    def add_server(self, server: HttpServer) -> None:
        """Serve the pages on another server as well; it listens while the manager runs."""
        self._servers.append(server)
        for health in (self.healthz, self.livez, self.readyz):
            server.add_for_request(f"/{health.name}", health.serve)
            server.add_prefix(f"/{health.name}/", health.serve_single)
        server.add("/metrics", self._metrics_page)
        server.add("/metrics/slis", self._slis_page)

    @property
    def health_port(self) -> int:
        """Port of the health pages. Raises RuntimeError if they are not served."""
        if self._server is None:
            raise RuntimeError("this manager serves no pages")
        return self._server.port

    @property
    def is_ready(self) -> bool:
        """Report whether all controllers are ready. A process that contends for the lock is ready, a stopping one is not."""
        if self._stop.is_set():
            return False
        if self._elector is not None and not self._working:
            return True
        return self._working and all(runnable.is_ready for runnable in self._runnables)

    def stop(self) -> None:
        """Stop ``run`` gracefully. Idempotent; may be called from a signal handler of the loop."""
        self._stop.set()

    def stop_on_signals(self) -> None:
        """Call ``stop`` on SIGINT and SIGTERM. Must be called on the running loop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop)

    async def run(self) -> None:
        """Run until ``stop``, cancellation, or the first error of a controller, which is raised. Raises LeadershipLost if
        another process became the leader.
        """
        async with AsyncExitStack() as stack:
            for server in self._servers:
                await stack.enter_async_context(server)
            background = Supervisor("manager", on_failure=self._background_failed)
            stack.push_async_callback(background.close)
            for name, work in self._background:
                background.start(name, work())
            for context in self._contexts:
                background.start("events", context.events.run())
            stack.push_async_callback(self._flush_events)
            for context in self._contexts:
                stack.push_async_callback(context.informers.close)
            if self._warm_standby:
                self._start_informers()
            await self._run_until_stopped()
        if self._failure is not None:
            raise self._failure

    def _background_failed(self, name: str, error: BaseException) -> None:
        self._failure = error
        self.stop()

    async def _run_until_stopped(self) -> None:
        work = asyncio.create_task(self._lead_or_work(), name="manager: controllers")
        stopping = asyncio.create_task(self._stop.wait(), name="manager: stop")
        try:
            await asyncio.wait([work, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and self._working:
                await self._stop_working(work)
        finally:
            stopping.cancel()
            work.cancel()
            await asyncio.wait([work, stopping])
        if not work.cancelled():
            work.result()

    async def _stop_working(self, work: asyncio.Task[None]) -> None:
        """Wait for running reconciles; the caller cancels those that exceed the grace period."""
        for runnable in reversed(self._runnables):
            runnable.stop()
        try:
            await wait_for(asyncio.wait([work]), self._grace, clock=self._clock)
        except TimeoutError:
            _log.warning("controllers did not end within %s seconds, cancelling them", self._grace)

    async def _lead_or_work(self) -> None:
        if self._elector is None:
            await self._work()
            return
        end = await self._elector.run(self._work)
        if end is not TermEnd.WORK_ENDED:
            raise LeadershipLost(
                "leaderelection lost" if end is TermEnd.LOST else "leadership was given up for another"
            )

    async def _work(self) -> None:
        self._working = True
        self._start_informers()
        try:
            async with asyncio.TaskGroup() as group:
                for runnable in self._runnables:
                    group.create_task(runnable.run(), name=f"manager: {runnable.name}")
            if self._background and not self._runnables:
                await self._stop.wait()
        finally:
            self._working = False

    def _start_informers(self) -> None:
        for context in self._contexts:
            context.informers.start()

    async def _flush_events(self) -> None:
        flushes = asyncio.gather(*(context.events.flush() for context in self._contexts))
        try:
            await wait_for(flushes, _FLUSH_SECONDS, clock=self._clock)
        except TimeoutError:
            _log.warning("some events could not be written")

    # Pages

    def _serve_pages(self) -> None:
        if self._elector is not None:
            for health in (self.healthz, self.livez):
                health.add("leaderElection", self._check_election)
            self.context.metrics.report_leadership(self._elector)
        self.readyz.add("controllers", self._check_ready)
        if self._server is not None:
            self.add_server(self._server)

    async def _metrics_page(self, query: Mapping[str, str]) -> Page:
        registry = self.context.metrics.registry
        if self.metric_filter:
            from steersman.runtime.filtered_metrics import FilteredRegistry  # noqa: PLC0415 — few processes filter

            return Page(200, exposition(FilteredRegistry(registry, self.metric_filter)), _METRICS_TYPE)
        return Page(200, exposition(registry), _METRICS_TYPE)

    async def _slis_page(self, query: Mapping[str, str]) -> Page:
        return Page(200, exposition(self._slis.registry), _METRICS_TYPE)

    def _check_ready(self) -> None:
        if not self.is_ready:
            late = [str(runnable.name) for runnable in self._runnables if not runnable.is_ready]
            raise Unhealthy(f"not ready: {', '.join(late)}")

    def _check_election(self) -> None:
        reason = self._elector.unhealthy_reason() if self._elector is not None else None
        if reason is not None:
            raise Unhealthy(reason)
