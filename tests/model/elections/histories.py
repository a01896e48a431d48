"""Random histories of coordinated elections on stored objects alone, without requests.

Candidates join, die, pause, resume and are upgraded at random moments, answer and renew with random delays, and hand
over as client-go does (releasing the Lease, or just exiting), while one to three controllers take steps on their
observed state and write with the observed version. Then disturbances stop. Checked: never two leaders at a time; after
the last disturbance the best live candidate leads within a bound and stays; the number of holder changes per
disturbance is bounded.
"""

from __future__ import annotations

import heapq
import itertools
import random
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from steersman.controlplane.elections.departures import Departures
from steersman.controlplane.elections.objects import OLDEST_EMULATION_VERSION, Candidate, Lease
from steersman.controlplane.elections.step import Assign, Create, Prefer, Publish, decide
from steersman.controlplane.elections.strategies import oldest_emulation_version
from steersman.controlplane.elections.versions import parse_version

BASE = datetime(2026, 1, 1, tzinfo=UTC)
#: client-go's defaults for coordinated candidates.
LEASE_SECONDS, RENEW_DEADLINE, RETRY = 15, 10.0, 2.0
#: Bound: after a crash of the holder the Lease's duration, an answer, a retry; then a hand-over to the best candidate.
SETTLED_SECONDS = 60.0
STAYS_SECONDS = 90.0
#: Holder changes per disturbance: another candidate takes over, and the first gets the Lease back.
CHANGES_PER_DISTURBANCE = 2


class Process:
    """Program of one candidate: live, paused or dead."""

    def __init__(self, name: str, *, releases: bool) -> None:
        self.name = name
        self.releases = releases
        self.state = "dead"
        #: Incremented at a restart; actions planned by an earlier run are dropped.
        self.life = 0
        self.led_at: float | None = None

    def leads(self, now: float) -> bool:
        return self.state == "live" and self.led_at is not None and now - self.led_at < RENEW_DEADLINE


class World:
    """Stored objects, processes, and a queue of future actions."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.now = 0.0
        self._queue: list[tuple[float, int, object]] = []
        self._serials = itertools.count(1)
        self.lease: Lease | None = None
        self.candidates: dict[str, Candidate] = {}
        self.processes = {name: Process(name, releases=self.dice.random() < 0.7) for name in "abcde"}
        self.controllers = self.dice.randint(1, 3)
        self._planned = [float("inf")] * self.controllers
        self._departures = [Departures() for _ in range(self.controllers)]
        self.holders: list[tuple[float, str]] = []
        self.disturbances = 0

    # -- the queue ------------------------------------------------------------------------------------------------

    def later(self, seconds: float, call: object) -> None:
        heapq.heappush(self._queue, (self.now + seconds, next(self._serials), call))

    def soon(self) -> float:
        return self.dice.uniform(0.001, 0.08)

    def run(self, until: float) -> None:
        while self._queue and self._queue[0][0] <= until:
            self.now, _, call = heapq.heappop(self._queue)
            call()
            leading = [one.name for one in self.processes.values() if one.leads(self.now)]
            if len(leading) > 1:
                raise AssertionError(f"{leading} lead at {self.now:.3f}")
        self.now = until

    @property
    def time(self) -> datetime:
        return BASE + timedelta(seconds=self.now)

    # -- objects and their watchers ------------------------------------------------------------------------------

    def store_lease(self, lease: Lease) -> None:
        before = self.lease.holder if self.lease is not None else ""
        self.lease = replace(lease, resource_version=str(next(self._serials)))
        if lease.holder != before:
            self.holders.append((self.now, lease.holder))
        self.wake_controllers()
        for process in self.processes.values():
            if self.dice.random() < 0.3:  # some watch the Lease, others poll it
                self.look_soon(process)

    def store_candidate(self, candidate: Candidate) -> None:
        self.candidates[candidate.name] = replace(candidate, resource_version=str(next(self._serials)))
        self.wake_controllers()
        process = self.processes[candidate.name]
        self.later(self.soon(), lambda life=process.life: self.answer(process, life))

    def wake_controllers(self) -> None:
        for number in range(self.controllers):
            self.later(self.soon(), lambda number=number: self.step(number))

    # -- controllers ----------------------------------------------------------------------------------------------

    def step(self, number: int) -> None:
        lease, candidates = self.lease, dict(self.candidates)
        departed = self._departures[number].update(lease, candidates, now=self.time)
        decision = decide(lease, candidates.values(), now=self.time, departed=departed)
        if decision.next_check is not None:
            at = (decision.next_check - BASE).total_seconds()
            if at <= self.now:
                raise AssertionError(f"looks again at {at}, which is not after {self.now}")
            if not self.now < self._planned[number] <= at:
                self._planned[number] = at
                self.later(at - self.now, lambda: self.check_again(number))
        requested_at = self.time
        for name in decision.ask:
            self.later(self.soon(), lambda seen=candidates[name]: self.ask(seen, requested_at))
        if decision.write is not None:
            self.later(self.soon(), lambda: self.write(lease, decision.write, number))

    def check_again(self, number: int) -> None:
        self._planned[number] = float("inf")
        self.step(number)

    def ask(self, seen: Candidate, requested_at: datetime) -> None:
        stored = self.candidates.get(seen.name)
        if stored is not None and stored.resource_version == seen.resource_version:
            self.store_candidate(replace(stored, pinged=requested_at))

    def write(self, seen: Lease | None, write: object, number: int) -> None:
        if (seen and seen.resource_version) != (self.lease and self.lease.resource_version):
            self.later(self.soon(), lambda: self.step(number))
            return
        match write:
            case Create(holder, strategy) | Assign(holder, strategy):
                self.store_lease(Lease(holder=holder, strategy=strategy, renewed=self.time, duration_seconds=5))
            case Prefer(holder, strategy):
                self.store_lease(replace(seen, preferred=holder, strategy=strategy))
            case Publish(strategy):
                self.store_lease(replace(seen, strategy=strategy))

    # -- candidates -----------------------------------------------------------------------------------------------

    def start(self, process: Process) -> None:
        process.state, process.led_at = "live", None
        process.life += 1
        emulation = self.dice.choice(["1.35.0", "1.36.0", "1.37.0"])
        binary = max(emulation, self.dice.choice(["1.36.0", "1.37.0"]))
        self.store_candidate(
            Candidate(
                name=process.name,
                lease_name="lead",
                binary=parse_version(binary),
                emulation=parse_version(emulation),
                strategy=OLDEST_EMULATION_VERSION,
                created=self.created(process),
                renewed=self.time,
            )
        )
        self.look_soon(process)

    def created(self, process: Process) -> datetime:
        """Create the LeaseCandidate, which outlives its process."""
        candidate = self.candidates.get(process.name)
        return candidate.created if candidate is not None else self.time.replace(microsecond=0)

    def answer(self, process: Process, life: int) -> None:
        candidate = self.candidates.get(process.name)
        if process.state != "live" or life != process.life or candidate is None:
            return
        if candidate.pinged is not None and candidate.pinged > candidate.renewed:
            self.store_candidate(replace(candidate, renewed=self.time))

    def look_soon(self, process: Process, seconds: float | None = None) -> None:
        delay = self.soon() if seconds is None else seconds
        self.later(delay, lambda life=process.life: self.look(process, life, again=seconds is not None))

    def look(self, process: Process, life: int, *, again: bool) -> None:
        """Check the Lease, as client-go does every other second, and some processes on every change of the Lease."""
        if process.state != "live" or life != process.life:
            return
        if process.led_at is not None and self.now - process.led_at >= RENEW_DEADLINE:
            process.led_at = None
        lease = self.lease
        if lease is not None and lease.holder == process.name and not lease.preferred:
            process.led_at = self.now
            self.store_lease(replace(lease, renewed=self.time, duration_seconds=LEASE_SECONDS))
        elif process.led_at is not None:
            if lease is not None and lease.holder == process.name:
                self.hand_over(process, lease)
                return
            process.led_at = None
        if again:
            self.look_soon(process, RETRY)

    def hand_over(self, process: Process, lease: Lease) -> None:
        """End the leadership: components exit and are restarted; libraries release the Lease and continue."""
        process.led_at = None
        if process.releases:
            self.store_lease(replace(lease, holder="", renewed=self.time, duration_seconds=1))
            self.look_soon(process, RETRY)
            return
        process.state = "dead"
        self.later(self.dice.uniform(1, 4), lambda: self.restart(process))

    def restart(self, process: Process) -> None:
        if process.state == "dead":
            self.start(process)
            self.look_soon(process, RETRY)

    # -- disturbances ---------------------------------------------------------------------------------------------

    def disturb(self) -> None:
        self.disturbances += 1
        process = self.dice.choice(list(self.processes.values()))
        match process.state:
            case "dead":
                self.restart(process)
            case "paused":
                self.go_on(process)
            case _:
                process.state = self.dice.choice(["dead", "paused", "upgraded"])
                if process.state == "upgraded":
                    process.state = "dead"
                    self.later(self.dice.uniform(0.2, 3), lambda: self.restart(process))

    def go_on(self, process: Process) -> None:
        process.state = "live"
        process.life += 1
        self.answer(process, process.life)
        self.look_soon(process, self.soon())
        self.look_soon(process, RETRY)


def play(seed: int) -> tuple[int, int]:
    """Play one history; return the numbers of holder changes and disturbances. Raises AssertionError."""
    world = World(seed)
    at = 0.0
    for _ in range(world.dice.randint(2, 25)):
        at += world.dice.choice([0.01, 0.5, 3, 12]) * world.dice.random()
        if world.dice.random() < 0.02:
            at += 1000  # candidates become stale
        world.run(at)
        world.disturb()
    for process in world.processes.values():
        if process.state == "paused" and world.dice.random() < 0.5:
            world.go_on(process)
            world.disturbances += 1
    rest = world.now
    # components that exit to hand over restart soon, so a candidate exists unless all had died before
    world.run(rest + SETTLED_SECONDS)
    changes = len(world.holders)
    live = [one for one in world.candidates.values() if world.processes[one.name].state == "live"]
    if live:
        check_rest(world, live, rest)
    if changes > CHANGES_PER_DISTURBANCE * (world.disturbances + 1):
        raise AssertionError(f"{changes} changes of the holder for {world.disturbances} disturbances: {world.holders}")
    return changes, world.disturbances


def check_rest(world: World, live: list[Candidate], rest: float) -> None:
    """Check that a best candidate leads and stays the leader."""
    holder = world.lease.holder if world.lease is not None else ""
    if not (holder and world.processes[holder].leads(world.now)):
        raise AssertionError(
            f"no candidate leads {SETTLED_SECONDS} s after the rest began at {rest:.3f}: {world.lease}"
        )
    best = oldest_emulation_version(live, holder=holder).name
    if best != holder:
        raise AssertionError(f"{holder} leads though {best} is better: {world.holders}")
    before = len(world.holders)
    world.run(world.now + STAYS_SECONDS)
    if len(world.holders) != before:
        raise AssertionError(f"the holder changed at rest (from {rest:.3f}): {world.holders}")
