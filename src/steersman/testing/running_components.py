"""Running components of an embedded cluster: controllers, scheduler and simulated nodes, which end like one process."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final

from steersman.testing.errors import ClusterError
from steersman.testing.links import Link

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.asynckit.clock import Clock
    from steersman.controlplane.components import SimulatedNodes
    from steersman.testing.application import ClusterApplication
    from steersman.testing.embedded_components import Components
    from steersman.testing.task_driver import TaskDriver

#: Polling interval of the components' readiness.
_READY_POLL_SECONDS: Final = 0.001


class RunningComponents:
    """Components with their manager; a restart loses their memory, like that of a process."""

    def __init__(
        self,
        make: Callable[[Link], Awaitable[Components | None]],
        *,
        app: ClusterApplication,
        clock: Clock,
        driver: TaskDriver,
    ) -> None:
        """``make`` returns new components that reach the API server through a link; None if the cluster has none."""
        self._make = make
        self._app = app
        self._clock = clock
        self._driver = driver
        self._link = Link(app)
        self._components: Components | None = None
        self._task: asyncio.Task[None] | None = None
        #: Task of ``start_in_background``.
        self._starting: asyncio.Task[None] | None = None

    @property
    def nodes(self) -> SimulatedNodes | None:
        """Simulated nodes, if any run."""
        return None if self._components is None else self._components.nodes

    async def start(self) -> None:
        """Start the components; return when they run and a node, if any, is Ready. Raises the error that ends them."""
        await self._driver.run(self._start(), "the components")

    async def launch(self) -> None:
        """Start the components without waiting until they run."""
        await self._driver.run(self._launch(), "the components")

    def start_in_background(self) -> None:
        """Begin to start the components; ``wait_started`` waits for the end."""
        self._starting = asyncio.get_running_loop().create_task(self.start(), name="embedded cluster: start")

    async def wait_started(self) -> None:
        """Wait for a start in the background, if any. Raises its error."""
        if self._starting is not None:
            await self._starting

    async def _start(self) -> None:
        await self._launch()
        components, task = self._components, self._task
        if components is None or task is None:
            return
        if components.nodes is not None:
            ready = asyncio.ensure_future(_ready(components.nodes))
            await asyncio.wait([task, ready], return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
        while not components.manager.is_ready and not task.done():
            await self._clock.sleep(_READY_POLL_SECONDS)
        if task.done():
            task.result()
            raise ClusterError("the components have ended")

    async def _launch(self) -> None:
        self._link = Link(self._app)
        self._components = components = await self._make(self._link)
        if components is not None:
            self._task = asyncio.get_running_loop().create_task(
                components.manager.run(), name="embedded cluster: components"
            )

    async def stop(self) -> None:
        """Ask the components to stop and wait for their end, for a limited time."""
        components, task = self._components, self._task
        if components is not None and task is not None and not task.done():
            components.manager.stop()
            await self._driver.wait_stopped(task)

    async def kill(self) -> None:
        """End the components as ``kill -9`` would. Idempotent. Raises the error that ended them before, if any.

        Their connections break first: a task that waits for the network would outlive the repeated cancellation.
        """
        self._link.cut()
        starting, self._starting = self._starting, None
        if starting is not None:
            starting.cancel()
            await asyncio.wait([starting])
        task, self._task, self._components = self._task, None, None
        if task is None:
            return
        await self._driver.cancel(task)
        if not task.done():
            raise ClusterError("the components did not end when cancelled")
        if not task.cancelled() and (error := task.exception()) is not None and sys.exc_info()[0] is None:
            raise error


async def _ready(nodes: SimulatedNodes) -> None:
    """Wait until simulated pods run on a node that is Ready."""
    await nodes.pods.wait_ready()
    await nodes.nodes.wait_node_ready()
