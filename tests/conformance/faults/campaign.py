"""Fault campaign: workloads are created and rolled out while requests of all components fail, on a simulation."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from tests.conformance.faults.workloads import CONTROLLERS, NAMESPACE, PODS, REPLICASETS, RolloutLimits, Workloads

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from steersman.client import Client
    from steersman.client.resource_types import ResourceType
    from steersman.testing.simulation import Simulation

#: Options of the simulation.
COMPONENTS: Final[Mapping[str, Any]] = {"nodes": 3, "controllers": CONTROLLERS}
REFUSALS: Final[tuple[Mapping[str, Any], ...]] = (
    {"respond": 429, "probability": 0.03},
    {"respond": 500, "probability": 0.04},
    {"respond": 409, "probability": 0.03},
    {"respond": "reset", "probability": 0.02},
    {"delay_seconds": 0.5, "probability": 0.01},
    {"delay_seconds": 7.0, "probability": 0.01},
    {"cut_watches": True, "probability": 0.01},
    {"end_watches": True, "probability": 0.005},
    {"split_watches": True, "probability": 0.005},
)
#: Faults after which a client does not know what it has created.
AMBIGUOUS: Final[tuple[Mapping[str, Any], ...]] = (
    *(
        {"respond": "lose-answer", "verb": verb, "probability": 0.01}
        for verb in ("create", "update", "patch", "delete*")
    ),
    {"respond": "duplicate", "probability": 0.01},
)
#: Time without faults after which everything must be as the specs say.
CONVERGENCE_SECONDS: Final = 30.0
_ROLLOUT_SECONDS: Final = 30.0
_FIRST_SECONDS: Final = 600.0


@asynccontextmanager
async def observed(client: Client, limits: RolloutLimits) -> AsyncIterator[None]:
    """Pass each change of a ReplicaSet or Pod to ``limits``. Raise what a watch raises, and RuntimeError at its end."""

    async def follow(resource: ResourceType[Any]) -> None:
        async with client.watch(resource, namespace=NAMESPACE, bookmarks=False) as events:
            async for event in events:
                limits.observe(event.type, event.object)
        raise RuntimeError("the watch has ended")

    tasks = [asyncio.create_task(follow(resource)) for resource in (REPLICASETS, PODS)]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def play(simulation: Simulation, *, are_limits_checked: bool) -> None:
    """Play one campaign. The limits of a rollout hold unless a controller cannot know what it has created."""
    client, dice = simulation.client(), simulation.dice
    workloads, limits = Workloads(client), RolloutLimits("web")
    async with observed(client, limits):
        await simulation.restart_components()
        await workloads.create()
        await _until(simulation, workloads.not_available, _FIRST_SECONDS)
        limits.is_checked = are_limits_checked
        await workloads.roll_out()
        await simulation.clock.advance(dice.uniform(0, _ROLLOUT_SECONDS))
        await simulation.restart_components(crash=dice.random() < 0.5)
        await simulation.clock.advance(dice.uniform(0, _ROLLOUT_SECONDS))
        await simulation.heal()
        await _until(simulation, workloads.not_converged, CONVERGENCE_SECONDS)
    assert not limits.violations, limits.violations
    assert limits.checked or not are_limits_checked


async def _until(simulation: Simulation, wrong: Callable[[], Awaitable[str]], seconds: float) -> None:
    """Let time pass until ``wrong`` returns nothing. Raise AssertionError after so many seconds."""
    deadline = simulation.clock.monotonic() + seconds
    while text := await wrong():
        assert simulation.clock.monotonic() < deadline, f"after {seconds:.0f} s: {text}"
        await simulation.clock.advance(0.5)
