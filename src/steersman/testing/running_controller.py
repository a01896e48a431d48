"""Controller of a test on the event loop of an embedded cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from steersman.runtime.manager import Manager
from steersman.runtime.reconcile_log import ReconcileRecorder, recording
from steersman.testing.links import Link

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from steersman.client import Client
    from steersman.client.reflector import ReflectorOptions
    from steersman.runtime.context import ControllerContext
    from steersman.runtime.manager import Runnable
    from steersman.testing.application import ClusterApplication
    from steersman.testing.task_driver import TaskDriver

_POLL_SECONDS: Final = 0.001


class RunningController:
    """Controller with its manager; a restart loses its memory, like that of a process."""

    def __init__(
        self,
        make: Callable[[ControllerContext], Runnable],
        connect: Callable[[Link], Client],
        *,
        app: ClusterApplication,
        dice: Random,
        recorder: ReconcileRecorder,
        reflector: ReflectorOptions | None,
        driver: TaskDriver,
    ) -> None:
        """``connect`` returns the client of a process."""
        self._make = make
        self._connect = connect
        self._app = app
        self._link = Link(app)
        self._dice = dice
        self._recorder = recorder
        self._reflector = reflector
        self._driver = driver
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Construct and start the controller; return once it runs. Raises its error."""
        await self._driver.run(self._start(), "the controller")

    async def _start(self) -> None:
        self._link = Link(self._app)
        client = self._connect(self._link)
        manager = Manager(client, dice=self._dice, reflector=self._reflector)
        with recording(self._recorder):
            manager.add(self._make(manager.context))
        self._task = asyncio.get_running_loop().create_task(manager.run(), name="embedded cluster: test controller")
        while not manager.is_ready and not self._task.done():
            await client.clock.sleep(_POLL_SECONDS)
        if self._task.done():
            self._task.result()

    async def stop(self) -> None:
        """Stop the controller as ``kill -9`` would. Idempotent."""
        self._link.cut()
        task, self._task = self._task, None
        if task is not None:
            await self._driver.cancel(task)

    async def restart(self) -> None:
        """Stop the controller and start a new one."""
        await self.stop()
        await self.start()
