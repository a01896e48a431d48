"""Random histories of a control plane, on ``steersman.testing.simulation``.

A ``Scenario`` has random edits of users, actions of other components (a kubelet), and the state that must hold at the end.
``play`` plays the history of one seed: edits, faults, crashes of the components, then rest. ``scripts/histories.py`` plays many.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lightkube.models.core_v1 import Namespace, Pod, PodCondition, ServiceAccount
from lightkube.models.meta_v1 import ObjectMeta
from tests.definitions import definition

from steersman.apimachinery.errors import StatusError
from steersman.client.objects import metadata_field, name_of
from steersman.client.reflector import ReflectorOptions
from steersman.controllers.manager.options import ManagerOptions
from steersman.testing import EmbeddedCluster
from steersman.testing.simulation import run_in_new_loop, simulate
from steersman.workloads.pods import is_active, is_ready

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from steersman.client import ResourceType
    from steersman.runtime.structs import T
    from steersman.storage.dump import StoreDump
    from steersman.testing.simulation import Simulation

#: Changes of users: functions of the world.
Edits = Sequence[Callable[["World"], Awaitable[None]]]

NAMESPACE: Final = "default"
#: Time to converge without faults. Shorter than the timeout of expectations whose events were lost: convergence must
#: not depend on it.
REST_SECONDS: Final = 4 * 60.0
#: … and time that the state must then stay correct.
STAYS_SECONDS: Final = 30.0
STEPS: Final = 25
#: An API server whose controllers are started by ``World.start``.
_ALONE: Final[Mapping[str, Any]] = {"nodes": 0, "controllers": [], "scheduler": False}
_RATE: Final = 0.15
FAULTS: Final[tuple[Mapping[str, Any], ...]] = (
    *({"respond": respond, "probability": _RATE / 4} for respond in ("reset", 500, 409, 429)),
    *(
        {"respond": "lose-answer", "verb": verb, "probability": _RATE / 4}
        for verb in ("create", "update", "patch", "delete*")
    ),
    *({kind: True, "probability": _RATE / 3} for kind in ("cut_watches", "end_watches", "expire_watches")),
)


class Scenario:
    """Users, other components and invariants of a history. Actions may raise ``StatusError``: then they were rejected."""

    #: Names for ``--controllers``.
    controllers: Sequence[str] = ()
    #: Fields of ``ManagerOptions``.
    options: Mapping[str, Any] = {}
    steps: ClassVar[int] = STEPS
    rest_seconds: ClassVar[float] = REST_SECONDS

    async def prepare(self, world: World) -> None:
        """Create objects before the controllers start."""

    def edits(self) -> Edits:
        """Return the changes that users make, each as often as its relative frequency."""
        raise NotImplementedError

    async def edit(self, world: World) -> None:
        """Make one random change as a user, with ``world.client`` and ``world.dice``."""
        await world.dice.choice(self.edits())(world)

    async def live(self, world: World) -> None:
        """Act as other components, repeatedly, also at rest: kubelets, schedulers."""

    async def violation(self, world: World) -> str:
        """Return an invariant that does not hold; empty if all do. Checked after each step."""
        return ""

    async def wrong(self, world: World) -> str:
        """Return the deviations from the specs; empty if there is none. Checked at rest."""
        raise NotImplementedError

    # Edits of several scenarios

    async def delete_pod(self, world: World) -> None:
        await world.delete_any(Pod)

    async def create_pod(self, world: World, name: str) -> None:
        """Create a Pod of the scenario, for ``replace_pod``."""
        raise NotImplementedError

    async def remove_pod(self, world: World, pod: Pod, *, grace_period_seconds: int) -> None:
        await world.client.delete_object(pod, grace_period_seconds=grace_period_seconds)

    async def replace_pod(self, world: World) -> None:
        """Recreate a Pod under its name, perhaps on another Node, as a StatefulSet does."""
        pod = await world.any(Pod)
        if pod is not None:
            await self.remove_pod(world, pod, grace_period_seconds=0)
            await self.create_pod(world, name_of(pod))

    async def terminate_pod(self, world: World) -> None:
        """Delete a Pod, with or without a grace period."""
        pod = await world.any(Pod)
        if pod is not None:
            await self.remove_pod(world, pod, grace_period_seconds=world.dice.choice([0, 30]))

    async def end_pod(self, world: World) -> None:
        """Let the containers of a Pod end, with success or not."""
        pod = await world.any(Pod)
        if pod is not None:
            await world.set_ready(pod, ready=False, phase=world.dice.choice(["Succeeded", "Failed"]))


class World:
    """A simulation, with a user's client without faults."""

    def __init__(self, simulation: Simulation, folder: Path) -> None:
        self.simulation: Final = simulation
        #: Directory for files that options name.
        self.folder: Final = folder
        self.clock: Final = simulation.clock
        self.dice: Final = simulation.dice
        self.client: Final = simulation.client("user/1")
        #: Number of starts of the components.
        self.lives = 0

    async def advance(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def start(self, controllers: Sequence[str], options: Mapping[str, Any]) -> None:
        """Start the components."""
        self.lives += 1
        await self.simulation.restart_components(controllers=controllers, manager_options=ManagerOptions(**options))

    async def restart(self) -> None:
        """Restart the components with the same settings."""
        self.lives += 1
        await self.simulation.restart_components(crash=self.dice.random() < 0.5)

    async def pass_time(self) -> None:
        """Advance the clock before an edit; sometimes restart the components."""
        await self.advance(self.dice.choice([0, 0, 0.01, 0.3, 2, 20]))
        if self.dice.random() < 0.06:
            await self.restart()

    # For scenarios

    async def define(self, resource: ResourceType[Any], **more: Any) -> None:
        """Serve a custom kind; ``more`` are arguments of ``definition``."""
        await self.client.create(definition(resource, **more))
        for _ in range(100):
            await self.advance(0.1)
            with suppress(StatusError):
                await self.client.list(resource)
                return
        raise AssertionError(f"{resource} is not served")

    async def all(self, model: type[T]) -> list[T]:
        return await self.client.list(model, namespace=NAMESPACE)

    async def any(self, model: type[T], matches: Callable[[T], bool] = lambda _: True) -> T | None:
        matching = [obj for obj in await self.all(model) if matches(obj)]
        return self.dice.choice(matching) if matching else None

    async def delete_any(self, model: type[T]) -> None:
        """Delete a random object, if there is one."""
        obj = await self.any(model)
        if obj is not None:
            await self.client.delete(model, name_of(obj), namespace=NAMESPACE)

    async def set_ready(self, pod: Pod, *, ready: bool = True, phase: str = "Running") -> None:
        """Write the status of a Pod as its kubelet."""
        now = self.clock.now().replace(microsecond=0)
        condition = PodCondition(type="Ready", status=str(ready), lastTransitionTime=now)
        tree = {"status": {"phase": phase, "conditions": [condition]}}
        await self.client.patch(Pod, name_of(pod), tree, namespace=NAMESPACE, subresource="status")

    async def bind(self, pod: Pod, node: str) -> None:
        """Assign a Pod to a Node as the scheduler."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name_of(pod)}, "target": target}
        await self.client.create_subresource(Pod, name_of(pod), "binding", binding, namespace=NAMESPACE)

    async def make_pods_ready(self) -> None:
        """Act as kubelets that make some Pods ready."""
        for pod in await self.all(Pod):
            if is_active(pod) and not is_ready(pod) and self.dice.random() < 0.5:
                await self.set_ready(pod)

    async def remove_deleted_pods(self) -> None:
        """Act as kubelets that end deleted Pods."""
        for pod in await self.all(Pod):
            if metadata_field(pod, "deletionTimestamp"):
                await self.client.delete_object(pod, grace_period_seconds=0)


async def ensure(writing: Awaitable[object]) -> None:
    """Await a write; an object that already exists is not an error."""
    with suppress(StatusError):
        await writing


@cache
def bootstrapped() -> StoreDump:
    """Return the objects of a new API server, so that the simulations of this process need not create them."""

    async def start() -> StoreDump:
        async with EmbeddedCluster(clock="virtual", seed=0, **_ALONE) as cluster:
            await ensure(cluster.client().create(Namespace(metadata=ObjectMeta(name=NAMESPACE))))
            account = ServiceAccount(metadata=ObjectMeta(name="default", namespace=NAMESPACE))
            await ensure(cluster.client().create(account))
            return cluster.snapshot()

    return run_in_new_loop(start())


def play_scenario(make: Callable[[], Scenario], folder: Path, *, seeds: Iterable[int], **options: Any) -> None:
    """Play the history of each seed. Raises ``SimulationError``. ``options`` are those of ``Simulation``."""

    @simulate(
        seeds=seeds, faults=FAULTS, snapshot=bootstrapped(), reflector=ReflectorOptions(), **{**_ALONE, **options}
    )
    async def play(simulation: Simulation) -> None:
        await _play(make(), World(simulation, folder))

    play()


async def _play(scenario: Scenario, world: World) -> None:
    await scenario.prepare(world)
    await world.start(scenario.controllers, scenario.options)
    for _ in world.simulation.steps(scenario.steps):
        await world.pass_time()
        await ensure(scenario.edit(world))
        await ensure(scenario.live(world))
        violation = await scenario.violation(world)
        assert not violation, violation
    await world.simulation.heal()
    await _come_to_rest(scenario, world)


async def _come_to_rest(scenario: Scenario, world: World) -> None:
    """Check that the state is correct and stays so: a stale status may look correct for a moment."""
    deadline = world.clock.monotonic() + scenario.rest_seconds
    correct_since: float | None = None
    step_seconds = 0.5
    while correct_since is None or world.clock.monotonic() - correct_since < STAYS_SECONDS:
        await ensure(scenario.live(world))
        await world.advance(step_seconds)
        step_seconds = min(step_seconds * 1.3, 5)
        violation = await scenario.violation(world)
        assert not violation, violation
        wrong = await scenario.wrong(world)
        if not wrong:
            correct_since = world.clock.monotonic() if correct_since is None else correct_since
            continue
        correct_since = None
        assert world.clock.monotonic() <= deadline, f"at rest for {scenario.rest_seconds:.0f} s, and still: {wrong}"
