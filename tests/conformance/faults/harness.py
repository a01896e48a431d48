"""Controllers, scheduler and simulated nodes in this process, with faults between them and the API server.

Time is a ``FakeClock``'s and all faults are drawn from a seed, so each campaign can be repeated.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.conformance.controllers.harness import World, cluster
from tests.conformance.faults.workloads import (
    CONTROLLERS,
    NAMESPACE,
    PODS,
    REPLICASETS,
    RolloutLimits,
    Workloads,
)
from tests.conformance.informer.faults import Faults, FaultyTransport

from steersman.client import Client
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.nodes.options import NodesOptions
from steersman.nodes.pods import PodController
from steersman.nodes.provisioning import SimulatedStorage
from steersman.nodes.registration import NodeController
from steersman.runtime.context import ControllerContext
from steersman.scheduler.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from steersman.client.resource_types import ResourceType
    from steersman.controllers.manager.options import ManagerOptions
    from steersman.runtime.manager import Manager

#: Percent of requests; answers that are lost and duplicated requests come on top of these.
REFUSALS = ("429",) * 3 + ("500",) * 4 + ("409",) * 3 + ("lost",) * 2 + ("slow",) * 2
AMBIGUOUS = ("answer lost", "duplicate")
#: Chance that a piece of a watch is cut.
PIECE_RATE = 0.02
#: Time without faults after which everything must be as the specs say.
CONVERGENCE_SECONDS = 30.0
_ROLLOUT_SECONDS = 30.0
_FIRST_SECONDS = 600.0


class FaultyCluster(World):
    """A cluster of which only the user's client is without faults."""

    def set_faults(self, *kinds: str) -> None:
        """Inject these kinds of faults, each into one percent of the requests."""
        self.faults = Faults(
            self.dice,
            len(kinds) / 100,
            PIECE_RATE,
            request_kinds=kinds,
            piece_kinds=("cut", "cut inside", "end", "torn"),
        )
        self._transport = FaultyTransport(LoopbackTransport(self.server.core.client), self.faults, clock=self.clock)

    async def make_manager(self, options: ManagerOptions) -> Manager:
        manager = await super().make_manager(options)
        for user_agent, add in (("kube-scheduler/test", _add_scheduler), ("kubelet/test", _add_nodes)):
            client = Client(self._transport, clock=self.clock, user_agent=user_agent)
            context = ControllerContext(client, dice=random.Random(self.dice.random()))
            add(manager, context)
            manager.add_context(context)
        return manager

    async def until(self, wrong: Any, seconds: float, *, step_seconds: float = 0.5) -> float:
        """Let time pass until ``wrong`` returns nothing; return the seconds. Raise AssertionError after so many seconds."""
        started_at = self.clock.monotonic()
        while text := await wrong():
            assert self.clock.monotonic() < started_at + seconds, f"after {seconds:.0f} s: {text}"
            await self.advance(step_seconds)
        return self.clock.monotonic() - started_at


def _add_scheduler(manager: Manager, context: ControllerContext) -> None:
    manager.add(Scheduler(context, host="test"))


def _add_nodes(manager: Manager, context: ControllerContext) -> None:
    options = NodesOptions(nodes=3)
    manager.add(NodeController(context, options.templates()))
    manager.add(PodController(context, options.pod_stages()))
    manager.add(SimulatedStorage(context))


@asynccontextmanager
async def observed(client: Client, limits: RolloutLimits) -> AsyncIterator[None]:
    """Pass each change of a ReplicaSet or Pod to ``limits``. Raise what a watch raises, and RuntimeError at its end."""

    async def follow(what: ResourceType[Any]) -> None:
        async with client.watch(what, namespace=NAMESPACE, bookmarks=False) as events:
            async for event in events:
                limits.observe(event.type, event.object)
        raise RuntimeError("the watch has ended")

    tasks = [asyncio.create_task(follow(what)) for what in (REPLICASETS, PODS)]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def play(seed: int, *, ambiguous: bool) -> dict[str, float]:
    """Play one campaign; return how often each fault happened, and the seconds until convergence. Raise AssertionError, with the seed, for a violation.

    ``ambiguous``: answers are lost and requests duplicated, too, so that a controller cannot know what it has created;
    the limits of a rollout are not checked then.
    """
    try:
        async with cluster(seed, FaultyCluster) as world:
            return await _play(world, ambiguous=ambiguous)
    except AssertionError as wrong:
        raise AssertionError(f"seed {seed}, ambiguous {ambiguous}: {wrong}") from wrong


async def _play(world: FaultyCluster, *, ambiguous: bool) -> dict[str, float]:
    world.set_faults(*REFUSALS, *(AMBIGUOUS if ambiguous else ()))
    workloads, limits = Workloads(world.client), RolloutLimits("web")
    async with observed(world.client, limits):
        await world.start(CONTROLLERS)
        await workloads.create()
        await world.until(workloads.not_available, _FIRST_SECONDS)
        limits.is_checked = not ambiguous
        await workloads.roll_out()
        await world.advance(world.dice.uniform(0, _ROLLOUT_SECONDS))
        await world.restart()
        await world.advance(world.dice.uniform(0, _ROLLOUT_SECONDS))
        world.faults.stop()
        seconds = await world.until(workloads.not_converged, CONVERGENCE_SECONDS)
        await world.end(crash=False)
    assert not limits.violations, limits.violations
    assert ambiguous or limits.checked
    assert world.faults.seen.keys() >= {"429", "500", "409", "cut"}, world.faults.seen
    return {**world.faults.seen, "convergence_seconds": seconds}
