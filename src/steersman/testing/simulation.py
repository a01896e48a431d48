"""Deterministic simulation: a cluster on one event loop, in virtual time, with faults and delays drawn from one seed.

The same seed gives the same history, byte for byte. A failing seed is reduced: it is repeated with fewer faults and test steps
until none can be left out.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from steersman.testing.clock import VirtualClock
from steersman.testing.embedded import EmbeddedCluster
from steersman.testing.fault_plan import DEFAULT_FAULTS, FaultPlan, reduce_faults

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Mapping

    from steersman.testing.history import Change
    from steersman.testing.idle import IdleDetector

P = ParamSpec("P")
T = TypeVar("T")

#: Environment variable with the seed to run, or a range of seeds: ``17``, ``100-299``.
SEED_VARIABLE: Final = "STEERSMAN_SIMULATION_SEED"
#: Longest delay of a request, or of a piece of a watch.
LATENCY_SECONDS: Final = 0.02


class SimulationError(AssertionError):
    """A seed failed; the message contains the command that repeats it and the smallest set of faults that makes it fail."""


class Simulation(EmbeddedCluster):
    """Embedded cluster whose history depends only on its seed.

    Everything runs in one thread. Requests and chunks of watches have random delays, so their order varies with the seed.
    """

    def __init__(
        self,
        seed: int,
        *,
        faults: Iterable[Mapping[str, Any]] = (),
        only_faults: Collection[str] | None = None,
        latency_seconds: float = LATENCY_SECONDS,
        **options: Any,
    ) -> None:
        """``only_faults``: see ``FaultPlan``. ``options`` are those of ``EmbeddedCluster``. Raises ``FaultError``."""
        super().__init__(clock=VirtualClock(), seed=seed, **options)
        self.seed: Final = seed
        #: Dice of the test.
        self.dice: Final = Random(f"{seed} test")  # noqa: S311 — no secrets
        self.plan: Final = FaultPlan(seed, faults, only=only_faults)
        self._latency = latency_seconds
        self._latency_dice = Random(f"{seed} latency")  # noqa: S311 — no secrets
        self._digest = sha256()
        self.observation.history.on_change = self._add_to_digest

    def _use_executor(self, idle: IdleDetector) -> None:
        idle.use_executor(inline=True)

    async def start(self) -> Simulation:
        """Start without faults and delays, then enable them."""
        await super().start()
        self.app.injector = self.plan
        if self._latency:
            self.app.latency = lambda: self._latency_dice.uniform(0, self._latency)
        return self

    def steps(self, count: int) -> Iterator[int]:
        """Yield the step numbers of a random scenario.

        ``dice`` depend only on the seed and the step number, so that a reduction that leaves out steps does not change the
        others.
        """
        for number in range(count):
            if self.plan.takes_step(number):
                self.dice.seed(f"{self.seed} step {number}")
                yield number
        self.dice.seed(f"{self.seed} after {count} steps")

    async def heal(self) -> None:
        """Stop the injection of faults; delays continue."""
        self.plan.heal()

    def digest(self) -> str:
        """Return a hash of all changes of objects so far, except heartbeats."""
        return self._digest.hexdigest()

    def _add_to_digest(self, change: Change) -> None:
        self._digest.update(f"{change.revision}\0{change.key}\0{change.time}\0".encode())
        self._digest.update(b"deleted" if change.value is None else change.value)


def simulate(
    *,
    seeds: Iterable[int] = range(100),
    faults: Iterable[Mapping[str, Any]] = DEFAULT_FAULTS,
    **options: Any,
) -> Callable[[Callable[Concatenate[Simulation, P], Awaitable[None]]], Callable[P, None]]:
    """Run an async test once for each seed, with a started ``Simulation`` as its first argument.

    ``faults`` have the fields of ``cluster.faults.add``, or one of ``WATCH_FAULTS``, and a ``probability``; ``options`` are
    those of ``Simulation``. ``STEERSMAN_SIMULATION_SEED`` overrides the seeds. The test raises ``SimulationError``.
    """
    faults = tuple(faults)

    def decorate(test: Callable[Concatenate[Simulation, P], Awaitable[None]]) -> Callable[P, None]:
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            for seed in seeds_to_run(seeds):
                _run_seed(seed, test, args, kwargs, faults=faults, options=options)

        run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
        run.__module__ = test.__module__
        signature = inspect.signature(test)
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=list(signature.parameters.values())[1:], return_annotation=None
        )
        return run

    return decorate


def seeds_to_run(seeds: Iterable[int]) -> Iterable[int]:
    """Return the seeds of ``STEERSMAN_SIMULATION_SEED``, or else ``seeds``. Raises ValueError for a bad value."""
    text = os.environ.get(SEED_VARIABLE)
    if text is None:
        return seeds
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        raise ValueError(f"{SEED_VARIABLE}={text}: expected a seed, or the first and the last one as in 100-299")
    return range(int(first), int(last or first) + 1)


def _run_seed(
    seed: int,
    test: Callable[..., Awaitable[None]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    faults: tuple[Mapping[str, Any], ...],
    options: dict[str, Any],
) -> None:
    def play(only: Collection[str] | None) -> tuple[Exception | None, list[str]]:
        return run_in_new_loop(_play(seed, test, args, kwargs, faults=faults, only=only, options=options))

    error, injected = play(None)
    if error is None:
        return

    async def fails(subset: Collection[str]) -> bool:
        again, _ = await asyncio.to_thread(play, subset)
        return again is not None

    fewest = run_in_new_loop(reduce_faults(injected, fails))
    final, _ = play(fewest)
    raise SimulationError(_message(seed, test, fewest, len(injected), final or error)) from (final or error)


async def _play(
    seed: int,
    test: Callable[..., Awaitable[None]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    faults: tuple[Mapping[str, Any], ...],
    only: Collection[str] | None,
    options: dict[str, Any],
) -> tuple[Exception | None, list[str]]:
    """Run the test once; return its error, and the faults that were injected."""
    simulation = Simulation(seed, faults=faults, only_faults=only, **options)
    await simulation.start()
    error: Exception | None = None
    try:
        try:
            await test(simulation, *args, **kwargs)
        finally:
            simulation.plan.heal()
            await simulation.stop()
    except Exception as raised:  # noqa: BLE001 — any error fails the seed, even of a component
        error = raised
    return error, simulation.plan.injected


def run_in_new_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop of asyncio; return its result."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        try:
            return runner.run(work)
        finally:
            gc.collect()  # a cluster has many reference cycles, which the collector frees late


def repeat_command(seed: int, default_test: str = "") -> str:
    """Return the command that runs the current test of pytest with one seed."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0] or default_test
    return f'{SEED_VARIABLE}={seed} python -m pytest "{test}"'


def _message(
    seed: int, test: Callable[..., Awaitable[None]], fewest: list[str], injected: int, error: BaseException
) -> str:
    command = repeat_command(seed, f"{test.__module__}.{test.__qualname__}")
    lines = [f"seed {seed} fails: {error}", f"repeat it with: {command}"]
    if fewest:
        lines += [f"the fewest of {injected} faults and steps that make it fail:", *(f"  {name}" for name in fewest)]
    else:
        lines.append("it fails without any fault")
    return "\n".join(lines)
