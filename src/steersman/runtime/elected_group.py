"""Group of runnables that runs only while this process holds a separate Lease, in addition to the manager's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from steersman.client.leaderelection import TermEnd
from steersman.runtime.health import Unhealthy
from steersman.runtime.manager import LeadershipLost

if TYPE_CHECKING:
    from steersman.client.leaderelection import LeaderElector
    from steersman.runtime.manager import Manager, R, Runnable


class ElectedGroup:
    """Runnables behind one Lease; run by a manager like a controller, so it contends only while the manager leads."""

    def __init__(self, elector: LeaderElector, *, title: str = "") -> None:
        """``title``: prefix of the error about a lost lease, in upstream's words."""
        self.name: Final = f"elected {elector.name}"
        self._elector = elector
        self._title = title
        self._runnables: list[Runnable] = []
        self._stop = asyncio.Event()
        self._is_working = False

    def add(self, runnable: R) -> R:
        """Add a runnable; all must be added before ``run``."""
        self._runnables.append(runnable)
        return runnable

    @property
    def is_ready(self) -> bool:
        """True while contending for the lock, or if all runnables are ready."""
        return not self._is_working or all(runnable.is_ready for runnable in self._runnables)

    def check(self) -> None:
        """Health check: raise ``Unhealthy`` if the elector has not noticed the loss of its Lease."""
        reason = self._elector.unhealthy_reason()
        if reason is not None:
            raise Unhealthy(reason)

    def stop(self) -> None:
        """Stop the runnables and release the lock."""
        self._stop.set()

    async def run(self) -> None:
        """Run until ``stop``. Raises LeadershipLost if another process holds the lock, and the error of a runnable."""
        term = asyncio.create_task(self._elector.run(self._work), name=f"{self.name}: term")
        stopping = asyncio.create_task(self._stop.wait(), name=f"{self.name}: stop")
        try:
            await asyncio.wait([term, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not term.done() and self._is_working:
                for runnable in reversed(self._runnables):
                    runnable.stop()
                await asyncio.wait([term])
        finally:
            stopping.cancel()
            term.cancel()
            await asyncio.wait([term, stopping])
        if not term.cancelled() and term.result() is not TermEnd.WORK_ENDED:
            raise LeadershipLost(f"{self._title}leaderelection lost")

    async def _work(self) -> None:
        if not self._runnables:  # the lock is held even so: other managers regard it as a sign of this one
            await self._stop.wait()
            return
        self._is_working = True
        try:
            async with asyncio.TaskGroup() as group:
                for runnable in self._runnables:
                    group.create_task(runnable.run(), name=f"{self.name}: {runnable.name}")
        finally:
            self._is_working = False


def add_elected_group(manager: Manager, elector: LeaderElector, *, check: str, title: str = "") -> ElectedGroup:
    """Add a group to the manager, with a health check named ``check`` and the metric of its lock; return the group."""
    group = manager.add(ElectedGroup(elector, title=title))
    for health in (manager.healthz, manager.livez):
        health.add(check, group.check)
    manager.context.metrics.report_leadership(elector)
    return group
