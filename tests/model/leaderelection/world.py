"""Contenders with individual clocks on a common true time, and injected faults."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random

from tests.unit.client.leaderelection.memory_lock import MemoryLock, MemoryStore

from steersman.asynckit.clock import FakeClock
from steersman.client.errors import RequestFailed
from steersman.client.leaderelection import LeaderElector, Timing

#: How much faster or slower than true time a contender's clock may go.
DRIFT = 0.03


class OwnClock:
    """Clock of a process, with an arbitrary offset and rate; while the process is paused no timer fires."""

    def __init__(self, true: FakeClock, dice: Random) -> None:
        self._true = true
        self._rate = 1 + dice.uniform(-DRIFT, DRIFT)
        self._offset = dice.uniform(0, 1e6)
        self.wall_skew_seconds = dice.uniform(-3600, 3600)
        self._going = asyncio.Event()
        self._going.set()
        self._missed: list = []

    def now(self):
        return self._true.now() + timedelta(seconds=self.wall_skew_seconds)

    def monotonic(self):
        return self._true.monotonic() * self._rate + self._offset

    async def sleep(self, seconds):
        await self._true.sleep(seconds / self._rate)
        await self._going.wait()

    def timer(self, seconds, callback):
        return self._true.timer(seconds / self._rate, lambda: self._fire(callback))

    def _fire(self, callback):
        if self._going.is_set():
            callback()
        else:
            self._missed.append(callback)

    async def going(self):
        await self._going.wait()

    def pause(self):
        self._going.clear()

    def resume(self):
        self._going.set()
        missed, self._missed = self._missed, []
        for callback in missed:
            callback()


class Way:
    """Network between a contender and the lock: delayed, and cut at times.

    Messages in flight are lost in either direction.
    """

    def __init__(self, true, clock, dice, failure=RequestFailed) -> None:
        self._true, self._clock, self._dice, self._failure = true, clock, dice, failure
        self.is_cut = False
        self.hangs = False
        self.is_dead = False

    async def travel(self):
        await self._true.sleep(self._dice.uniform(0.001, 0.05))
        if self.is_cut and self.hangs and not self.is_dead:
            await asyncio.get_running_loop().create_future()
        if self.is_cut or self.is_dead:
            raise self._failure("the network is cut")
        await self._clock.going()


class FarLock(MemoryLock):
    """The lock in memory at the end of a way."""

    def __init__(self, store, identity, way) -> None:
        super().__init__(store, identity)
        self.travel = way.travel


class Contender:
    """A process that contends again and again, and acts while it may."""

    def __init__(self, world, name) -> None:
        self.world, self.name = world, name
        self.task = None
        self.terms = 0

    def start(self):
        """Start a new process."""
        world, dice = self.world, self.world.dice
        self.clock = OwnClock(world.true, dice)
        self.link, lock = world.reach(f"{self.name}-{self.terms}", self.clock)
        self.elector = LeaderElector(lock, timing=world.timing, clock=self.clock, dice=dice)
        self.task = asyncio.create_task(self._contend(self.link, self.elector, self.clock), name=self.name)
        self.alive = True

    async def _contend(self, link, elector, clock):
        while True:
            await elector.run(lambda: self._act(link, elector, clock))

    async def _act(self, link, elector, clock):
        self.terms += 1
        term = (self.name, self.terms)
        while True:
            if elector.is_leader and not link.is_dead:
                self.world.acted(term)
            await clock.sleep(1.1)

    def crash(self):
        """Crash without releasing the lock."""
        self.link.is_dead = True
        self.alive = False
        self.clock.resume()
        self.task.cancel()

    async def leave(self):
        """Stop in an orderly way."""
        self.alive = False
        self.task.cancel()

    @property
    def leads(self):
        return self.alive and self.elector.is_leader

    def heal(self):
        self.link.is_cut = self.link.hangs = False
        self.clock.resume()
        if not self.alive:
            self.start()


class World:
    """Five contenders, one store, and a record of events."""

    def __init__(self, seed, contenders=5, true=None) -> None:
        self.dice = Random(seed)
        self.true = true or FakeClock()
        self.store = MemoryStore()
        self.timing = Timing()
        self.contenders = [Contender(self, f"c{n}") for n in range(contenders)]
        self.terms: list = []
        self.faults: list[str] = []
        self.violations: list[str] = []

    def reach(self, identity, clock):
        """Return a path to the lock, and the lock at its end."""
        way = Way(self.true, clock, self.dice)
        return way, FarLock(self.store, identity, way)

    def acted(self, term):
        """Check that acts of one term are contiguous: once another contender has acted, the term is over."""
        if self.terms and self.terms[-1] == term:
            return
        if term in self.terms:
            self.violations.append(f"{self.true.monotonic():.2f}: {term} acted after {self.terms[-1]}")
        self.terms.append(term)

    @property
    def leaders(self):
        return [contender for contender in self.contenders if contender.leads]

    async def pass_time(self, seconds):
        for _ in range(round(seconds)):
            await self.true.advance(1)
            if len(self.leaders) > 1:
                names = [contender.name for contender in self.leaders]
                self.violations.append(f"{self.true.monotonic():.2f}: {names} lead at once")

    async def until_led(self, within_seconds, *, step_seconds=0.05):
        """Return the true seconds until a contender leads."""
        start = self.true.monotonic()
        while not self.leaders and self.true.monotonic() < start + within_seconds:
            await self.true.advance(step_seconds)
        return self.true.monotonic() - start

    async def strike(self):
        """Inject one random fault. A common outage lasts until the next fault."""
        if self.faults and self.faults[-1] == "outage":
            for contender in self.contenders:
                contender.link.is_cut = contender.link.hangs = False
        victim = self.dice.choice(self.contenders)
        kind = self.dice.choice(["cut", "hang", "pause", "crash", "leave", "wall", "outage", "heal", "heal", "heal"])
        self.faults.append(kind)
        if kind in ("cut", "hang"):
            victim.link.is_cut, victim.link.hangs = True, kind == "hang"
        elif kind == "pause":
            victim.clock.pause()
        elif kind == "crash" and victim.alive:
            victim.crash()
        elif kind == "leave" and victim.alive:
            await victim.leave()
        elif kind == "wall":
            victim.clock.wall_skew_seconds += self.dice.uniform(-7200, 7200)
        elif kind == "heal":
            victim.heal()
        elif kind == "outage":
            for contender in self.contenders:
                contender.link.is_cut = True

    def heal(self):
        for contender in self.contenders:
            contender.heal()

    async def close(self):
        for contender in self.contenders:
            contender.link.is_dead = True
            contender.clock.resume()
            contender.task.cancel()
        await self.true.advance(30)
