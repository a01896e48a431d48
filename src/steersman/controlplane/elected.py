"""A group of runnables that works only while it is elected by coordinated leader election (KEP-4355).

``up --coordinated-elections`` runs two of them in one process: the controllers and the scheduler.
"""

from __future__ import annotations

import asyncio
import socket
import uuid
from typing import TYPE_CHECKING, Final, TypeVar

from steersman.asynckit.tasks import Supervisor
from steersman.client.leaderelection import LeaderElector, LeaseLock, TermEnd
from steersman.client.leaderelection.candidate import Candidacy, LeaseCandidate
from steersman.runtime.manager import LeadershipLost
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from random import Random

    from steersman.client import Client
    from steersman.runtime.manager import Runnable

R = TypeVar("R", bound="Runnable")

NAMESPACE: Final = "kube-system"


class ElectedGroup:
    """Runnables behind one Lease, and the LeaseCandidate of this process; run by a manager like a controller."""

    def __init__(self, client: Client, lease_name: str, *, dice: Random) -> None:
        version = KUBERNETES_VERSION.removeprefix("v")
        identity = f"{socket.gethostname()}_{uuid.UUID(int=dice.getrandbits(128), version=4)}"
        candidacy = Candidacy(
            namespace=NAMESPACE,
            name=identity,
            lease_name=lease_name,
            binary_version=version,
            emulation_version=version,
        )
        lock = LeaseLock(client, namespace=NAMESPACE, name=lease_name, identity=identity)
        self.name: Final = f"elected {lease_name}"
        self._candidate = LeaseCandidate(client, candidacy, dice=dice)
        self._elector = LeaderElector(lock, clock=client.clock, dice=dice, coordinated=True)
        self._runnables: list[Runnable] = []
        self._stop = asyncio.Event()
        self._is_working = False

    def add(self, runnable: R) -> R:
        """Add a runnable; all must be added before ``run``."""
        self._runnables.append(runnable)
        return runnable

    @property
    def is_ready(self) -> bool:
        """True while waiting for the election, and when all runnables are ready."""
        return not self._is_working or all(runnable.is_ready for runnable in self._runnables)

    def stop(self) -> None:
        """End the runnables, release the Lease, and delete the candidate."""
        self._stop.set()

    async def run(self) -> None:
        """Run until ``stop``. Raises LeadershipLost when another candidate leads now, and what a runnable raises."""
        candidate = Supervisor(self.name)
        candidate.start("candidate", self._candidate.run())
        try:
            await self._contend(candidate)
        finally:
            await candidate.close()

    async def _contend(self, candidate: Supervisor) -> None:
        term = asyncio.create_task(self._elector.run(self._work), name=f"{self.name}: term")
        stopping = asyncio.create_task(self._stop.wait(), name=f"{self.name}: stop")
        try:
            await asyncio.wait([term, stopping], return_when=asyncio.FIRST_COMPLETED)
            # First, or the released Lease would be given to this candidate again.
            await candidate.close()
            if not term.done() and self._is_working:
                for runnable in reversed(self._runnables):
                    runnable.stop()
                await asyncio.wait([term])
        finally:
            stopping.cancel()
            term.cancel()
            await asyncio.wait([term, stopping])
        if not term.cancelled() and term.result() is not TermEnd.WORK_ENDED:
            raise LeadershipLost(f"{self.name}: leaderelection lost")

    async def _work(self) -> None:
        self._is_working = True
        try:
            async with asyncio.TaskGroup() as group:
                for runnable in self._runnables:
                    group.create_task(runnable.run(), name=f"{self.name}: {runnable.name}")
        finally:
            self._is_working = False
