"""Random histories for controllers: an in-process cluster, faults, restarts, and a check of the final state.

To test a controller, write a ``Scenario``: random edits of its objects, actions of other components (a kubelet), and
the state that must hold at the end. ``play`` runs one seed; ``scripts/controller_histories.py`` many. Time is a
``FakeClock``'s: an hour takes as long as its events.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lightkube.models.core_v1 import Namespace, Pod, PodCondition, ServiceAccount
from lightkube.models.meta_v1 import ObjectMeta
from tests.conformance.informer.faults import Faults, FaultyTransport
from tests.definitions import definition

from steersman.apimachinery.errors import StatusError
from steersman.asynckit.clock import FakeClock
from steersman.client import Client
from steersman.client.transport import Request, Response, Transport, TransportError
from steersman.controllers.manager.assembly import add_controllers
from steersman.controllers.manager.identities import OneIdentity
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.shared.served import ask
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.runtime.manager import Manager
from steersman.testing import InProcessAPIServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from steersman.client import ResourceType
    from steersman.runtime.structs import T

NAMESPACE = "default"
#: Time to converge without faults. Shorter than the timeout of expectations whose events were lost: convergence must
#: not depend on it.
REST_SECONDS = 4 * 60.0
#: … and time that the state must then stay correct.
STAYS_SECONDS = 30.0
STEPS = 25
FAULT_RATE = 0.15


class Scenario(Protocol):
    """Interface of a scenario. Its methods may raise ``StatusError``: then that edit was rejected."""

    #: Names for ``--controllers``.
    controllers: Sequence[str]

    async def edit(self, world: World) -> None:
        """Make one random change as a user, with ``world.client`` and ``world.dice``."""

    async def live(self, world: World) -> None:
        """Act as other components, repeatedly, also at rest: kubelets, schedulers."""

    async def wrong(self, world: World) -> str:
        """Return the deviations from the specs; empty if there is none."""


class LosesAnswers:
    """Transport whose requests take effect, but whose responses may be lost."""

    host = "loses answers"

    def __init__(self, inner: Transport, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    async def request(self, request: Request) -> Response:
        answer = await self._inner.request(request)
        if request.method != "GET" and self._faults.dice.random() < self._faults.request_rate / 4:
            self._faults.seen["answer lost"] += 1
            raise TransportError("connection reset by peer")
        return answer

    def open(self, request: Request) -> Any:
        return self._inner.open(request)

    async def close(self) -> None:
        await self._inner.close()


W = TypeVar("W", bound="World")


class World:
    """Server, a user's client without faults, and a manager whose client has them."""

    def __init__(self, server: InProcessAPIServer, clock: FakeClock, dice: random.Random, folder: Path) -> None:
        self.server = server
        #: Directory for files that options name; deleted after the history.
        self.folder = folder
        self.clock = clock
        self.dice = dice
        self.client = Client(LoopbackTransport(server.core.client), clock=clock, user_agent="user/1")
        self.faults = Faults(
            dice,
            FAULT_RATE,
            FAULT_RATE,
            request_kinds=("lost", "500", "409", "429"),
            piece_kinds=("cut", "end", "error 410"),
        )
        faulty = FaultyTransport(
            LosesAnswers(LoopbackTransport(server.core.client), self.faults), self.faults, clock=clock
        )
        self._transport = faulty
        self._options = ManagerOptions()
        #: Number of manager starts.
        self.lives = 0
        self._manager: Manager | None = None
        self._running: asyncio.Task[None] | None = None

    async def advance(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def start(self, controllers: Sequence[str], **options: Any) -> None:
        """Start a manager of these controllers; ``options`` are fields of ``ManagerOptions``."""
        self._options = ManagerOptions(
            controllers=tuple(controllers), leader_elect=False, port=0, min_resync_period_seconds=0, **options
        )
        await self._start()

    async def _start(self) -> None:
        self.lives += 1
        self._manager = await self.make_manager(self._options)
        self._running = asyncio.create_task(self._manager.run())

    async def make_manager(self, options: ManagerOptions) -> Manager:
        """Return a manager with all components that run beside the user."""
        identities = OneIdentity(self._transport, options, clock=self.clock)
        manager = Manager(identities.root(), dice=random.Random(self.dice.random()), shutdown_grace_seconds=5)
        add_controllers(manager, options, identities, await ask(self.client))
        return manager

    async def end(self, *, crash: bool) -> None:
        """Stop the manager; a crash aborts running work, otherwise it completes."""
        manager, running = self._manager, self._running
        assert manager is not None
        assert running is not None
        if crash:
            running.cancel()
        else:
            manager.stop()
        for _ in range(200):
            if running.done():
                break
            await self.advance(0.5)
        assert running.done()
        if not running.cancelled():
            running.result()

    async def restart(self) -> None:
        """Restart the controllers with their first settings."""
        await self.end(crash=self.dice.random() < 0.5)
        await self._start()

    async def pass_time(self) -> None:
        """Advance the clock before each edit; sometimes restart the manager."""
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

    async def set_ready(self, pod: Pod, *, ready: bool = True, phase: str = "Running") -> None:
        """Write the status of a Pod as its kubelet."""
        now = self.clock.now().replace(microsecond=0)
        condition = PodCondition(type="Ready", status=str(ready), lastTransitionTime=now)
        tree = {"status": {"phase": phase, "conditions": [condition]}}
        await self.client.patch(Pod, pod.metadata.name, tree, namespace=NAMESPACE, subresource="status")


@asynccontextmanager
async def cluster(seed: int, world_type: type[W]) -> AsyncIterator[W]:
    clock, dice = FakeClock(), random.Random(seed)
    with TemporaryDirectory() as folder:
        async with InProcessAPIServer(clock=clock) as server:
            world = world_type(server, clock, dice, Path(folder))
            await ensure(world.client.create(Namespace(metadata=ObjectMeta(name=NAMESPACE))))
            await ensure(world.client.create(ServiceAccount(metadata=ObjectMeta(name="default", namespace=NAMESPACE))))
            yield world


async def ensure(writing: Awaitable[object]) -> None:
    """Await a write; an object that already exists is not an error."""
    with suppress(StatusError):
        await writing


async def play(scenario: Scenario, seed: int, *, steps: int = STEPS) -> None:
    """Play one history. Raises AssertionError with the seed when the final state is wrong."""
    async with cluster(seed, World) as world:
        prepare = getattr(scenario, "prepare", None)
        if prepare is not None:
            await prepare(world)
        await world.start(scenario.controllers, **getattr(scenario, "options", {}))
        for _ in range(steps):
            await world.pass_time()
            await ensure(scenario.edit(world))
            await ensure(scenario.live(world))
        world.faults.stop()
        await _comes_to_rest(scenario, world, seed)
        await world.end(crash=False)


async def _comes_to_rest(scenario: Scenario, world: World, seed: int) -> None:
    """Check that the state is correct and stays so: a stale status may look correct for a moment."""
    rest_seconds = getattr(scenario, "rest_seconds", REST_SECONDS)
    deadline = world.clock.monotonic() + rest_seconds
    well_since: float | None = None
    step_seconds = 0.5
    while well_since is None or world.clock.monotonic() - well_since < STAYS_SECONDS:
        await ensure(scenario.live(world))
        await world.advance(step_seconds)
        step_seconds = min(step_seconds * 1.3, 5)
        wrong = await scenario.wrong(world)
        if not wrong:
            well_since = world.clock.monotonic() if well_since is None else well_since
            continue
        well_since = None
        if world.clock.monotonic() > deadline:
            raise AssertionError(f"seed {seed}: at rest for {rest_seconds:.0f} s, and still: {wrong}")
