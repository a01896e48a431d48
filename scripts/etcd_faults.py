"""Random faults of etcd members and of the network to them, under clients, with a check of the whole history.

Three members run as processes; three stores, as of three API servers, reach each of them through a TCP proxy of their own.
While the stores write, read and watch, members are killed, paused and restarted, links are cut or freeze, and stores are
closed and opened again. Then everything is healed, and the history must show:

* every acknowledged write is in etcd's own history, at the revision that was answered;
* writes and reads are linearizable: an operation that began after another one had ended has not a smaller revision, and a
  read returned the state at a revision between the two;
* every watch received each event of its time once, in order.

``python -m scripts.etcd_faults --runs 200 --seed 1``; a failing run prints its seed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from bisect import bisect_right
from dataclasses import dataclass, field
from random import Random

from scripts.etcd_cluster import EtcdCluster, EtcdMember

from steersman.asynckit.clock import RealClock
from steersman.storage.etcd.store import EtcdStore
from steersman.storage.store import Batch, Conflict, Event, KeyValue, Put, StoreError

KEYS = [f"/k/{number}" for number in range(4)]
STORES = 3
#: Seconds of faults in a run, and of waiting for everything to work again.
FAULT_SECONDS = 2.0
HEAL_SECONDS = 40
CLOCK = RealClock()


class Link:
    """TCP proxy between a store and a member."""

    def __init__(self, member: EtcdMember) -> None:
        self._member = member
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._refuses = False
        self.url = ""

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        relays: list[asyncio.Task[None]] = []
        try:
            if self._refuses:
                return
            upstream, onward = await asyncio.open_connection("127.0.0.1", self._member.client_port)
            self._writers.add(onward)
            relays = [
                asyncio.create_task(self._relay(reader, onward)),
                asyncio.create_task(self._relay(upstream, writer)),
            ]
            await asyncio.wait(relays)
        except OSError:
            pass
        finally:
            writer.transport.abort()
            self._writers.discard(writer)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError):
                while data := await reader.read(65536):
                    await self._flows.wait()
                    writer.write(data)
                    await writer.drain()
        finally:
            writer.transport.abort()
            self._writers.discard(writer)

    def freeze(self) -> None:
        """Deliver nothing, as a network that drops packets."""
        self._flows.clear()

    def cut(self) -> None:
        """Reset connections and refuse new ones."""
        self._refuses = True
        for writer in list(self._writers):
            writer.transport.abort()

    def heal(self) -> None:
        self._refuses = False
        self._flows.set()

    async def close(self) -> None:
        self.heal()
        if self._server is not None:
            self._server.close()
        while self._writers:
            self._writers.pop().transport.abort()
            await CLOCK.sleep(0)


@dataclass
class Operation:
    """An acknowledged write, or a read, with the order numbers of its begin and end."""

    kind: str
    key: str
    begin: int
    end: int
    #: Of a write: its revision. Of a read: ``mod_revision`` of what was read, 0 for nothing.
    revision: int
    value: bytes | None


@dataclass
class Watched:
    """Events of a watch from after ``since`` to ``until``."""

    since: int
    until: int = 0
    events: list[Event] = field(default_factory=list)
    is_lost: bool = False

    def __call__(self, batch: Batch) -> None:
        self.events += batch.events
        self.until = batch.revision

    def lose(self, _error: StoreError) -> None:
        self.is_lost = True


class Run:
    """One seeded run on a cluster."""

    def __init__(self, cluster: EtcdCluster, seed: int) -> None:
        self._cluster = cluster
        self._dice = Random(seed)
        self._prefix = f"/run-{seed}"
        self._links = [[Link(member) for member in cluster.members] for _ in range(STORES)]
        self._stores: list[EtcdStore] = []
        self._operations: list[Operation] = []
        self._watched: list[Watched] = []
        self._live: list[Watched] = []
        self._time = 0
        self._is_over = False
        self.faults: list[str] = []

    def _tick(self) -> int:
        self._time += 1
        return self._time

    async def play(self) -> list[str]:
        """Return what is wrong with the history."""
        for links in self._links:
            for link in links:
                await link.open()
        try:
            self._stores = [await self._open(number) for number in range(STORES)]
            start = self._stores[0].revision
            self._live = [await self._watch(store) for store in self._stores]
            work = [asyncio.create_task(self._work(number)) for number in range(STORES) for _ in range(2)]
            await self._disturb()
            self._is_over = True
            await asyncio.gather(*work)
            await self._settle()
            return check(self._operations, self._watched, await self._history(start))
        finally:
            for store in self._stores:
                await store.close()
            for links in self._links:
                for link in links:
                    await link.close()

    async def _open(self, number: int) -> EtcdStore:
        urls = [link.url for link in self._links[number]]
        self._dice.shuffle(urls)
        return await EtcdStore.open(
            urls, clock=CLOCK, prefix=self._prefix, compaction_interval_seconds=0, open_seconds=HEAL_SECONDS
        )

    async def _watch(self, store: EtcdStore) -> Watched:
        since = store.revision
        watched = Watched(since, since)
        self._watched.append(watched)
        await store.watch("/k/", watched, after_revision=since, on_lost=watched.lose)
        return watched

    # -- the clients ---------------------------------------------------------------------------------------------------

    async def _work(self, number: int) -> None:
        dice = Random(self._dice.random())
        observed: dict[str, KeyValue | None] = {}
        while not self._is_over:
            key = dice.choice(KEYS)
            with contextlib.suppress(StoreError):
                if dice.random() < 0.5:
                    await self._read(number, key, observed)
                else:
                    await self._write(number, key, observed, dice)
            await CLOCK.sleep(dice.random() * 0.02)

    async def _read(self, number: int, key: str, observed: dict[str, KeyValue | None]) -> None:
        begin = self._tick()
        kv = await self._stores[number].get(key)
        observed[key] = kv
        revision, value = (kv.mod_revision, kv.value) if kv else (0, None)
        self._operations.append(Operation("read", key, begin, self._tick(), revision, value))
        # a read from the cache: what the watch has delivered, at a revision that is asked for
        begin, watched, store = self._tick(), self._live[number], self._stores[number]
        await store.current_revision()
        if watched.is_lost or watched is not self._live[number]:
            return
        mine = [event for event in watched.events if event.key == key]
        if mine:
            self._operations.append(
                Operation("cached read", key, begin, self._tick(), mine[-1].mod_revision, mine[-1].value)
            )

    async def _write(self, number: int, key: str, observed: dict[str, KeyValue | None], dice: Random) -> None:
        value = b"%d" % dice.getrandbits(60)
        kv = observed.get(key)
        expected = (kv.mod_revision if kv else 0) if key in observed and dice.random() < 0.7 else None
        begin = self._tick()
        try:
            revision = await self._stores[number].txn([Put(key, value, expected)])
        except Conflict as lost:
            observed[key] = lost.current
            return
        self._operations.append(Operation("write", key, begin, self._tick(), revision, value))
        observed.pop(key, None)

    # -- the faults ----------------------------------------------------------------------------------------------------

    async def _disturb(self) -> None:
        deadline = CLOCK.monotonic() + FAULT_SECONDS
        while CLOCK.monotonic() < deadline:
            await CLOCK.sleep(self._dice.uniform(0.1, 0.4))
            fault = self._dice.choice(["kill", "pause", "cut", "freeze", "cut all", "reopen"])
            number, member = self._dice.randrange(STORES), self._dice.choice(self._cluster.members)
            self.faults.append(f"{fault} {number} {member.name}")
            if fault == "kill":
                member.kill()
                await CLOCK.sleep(self._dice.uniform(0.05, 0.5))
                await asyncio.to_thread(member.start)
            elif fault == "pause":
                member.pause()
                await CLOCK.sleep(self._dice.uniform(0.2, 1.5))
                member.resume()
            elif fault == "reopen":
                await self._reopen(number)
            else:
                links = self._links[number]
                for link in links if fault == "cut all" else [self._dice.choice(links)]:
                    link.freeze() if fault == "freeze" else link.cut()
                await CLOCK.sleep(self._dice.uniform(0.1, 1.0))
                for link in links:
                    link.heal()

    async def _reopen(self, number: int) -> None:
        """An API server ends and another one takes its place."""
        before = self._stores[number]
        store = await self._open(number)
        self._live[number] = await self._watch(store)
        self._stores[number] = store
        await before.close()

    async def _settle(self) -> None:
        """Wait until every store has seen everything."""
        async with asyncio.timeout(HEAL_SECONDS):
            for store in self._stores:
                while True:
                    with contextlib.suppress(StoreError):
                        await store.current_revision()
                        break
                    await CLOCK.sleep(0.1)
        for number, watched in enumerate(self._live):
            if not watched.is_lost:
                watched.until = self._stores[number].revision

    async def _history(self, start: int) -> list[Event]:
        """Return etcd's own history of the run."""
        store = await EtcdStore.open(
            self._cluster.urls, clock=CLOCK, prefix=self._prefix, compaction_interval_seconds=0
        )
        whole = Watched(start)
        try:
            await store.watch("/k/", whole, after_revision=start, on_lost=whole.lose)
        finally:
            await store.close()
        return whole.events


def check(operations: list[Operation], watches: list[Watched], history: list[Event]) -> list[str]:
    """Return the violations of a history."""
    return [*_check_writes(operations, history), *_check_order(operations, history), *_check_watches(watches, history)]


def _check_writes(operations: list[Operation], history: list[Event]) -> list[str]:
    stored = {(event.key, event.value, event.mod_revision) for event in history}
    return [
        f"an acknowledged write is lost: {operation}"
        for operation in operations
        if operation.kind == "write" and (operation.key, operation.value, operation.revision) not in stored
    ]


def _check_order(operations: list[Operation], history: list[Event]) -> list[str]:
    """Check that each operation has a revision that real time allows."""
    revisions: dict[str, list[int]] = {}
    for event in history:
        revisions.setdefault(event.key, []).append(event.mod_revision)
    writes = [operation for operation in operations if operation.kind == "write"]
    ended = sorted((write.end, write.revision) for write in writes)
    begins = sorted((write.begin, write.revision) for write in writes)
    #: Greatest revision of writes that ended up to there; least one of writes that began from there on.
    newest, oldest = [0], [1 << 62]
    for _, revision in ended:
        newest.append(max(newest[-1], revision))
    for _, revision in reversed(begins):
        oldest.append(min(oldest[-1], revision))
    oldest.reverse()
    faults = []
    for operation in operations:
        low = newest[bisect_right(ended, (operation.begin, 1 << 62))]
        high = oldest[bisect_right(begins, (operation.end, 1 << 62))]
        first, last = operation.revision, operation.revision
        if operation.kind != "write":
            mine = revisions.get(operation.key, [])
            position = bisect_right(mine, first)
            last = mine[position] - 1 if position < len(mine) else 1 << 62
        if not (last >= low and first < high):
            faults.append(f"not linearizable: {operation} must be at a revision in [{low}, {high})")
    return faults


def _check_watches(watches: list[Watched], history: list[Event]) -> list[str]:
    faults = []
    for watched in watches:
        expected = [event for event in history if watched.since < event.mod_revision <= watched.until]
        if watched.events != expected:
            missing = [event for event in expected if event not in watched.events]
            surplus = [event for event in watched.events if event not in expected]
            faults.append(f"a watch after {watched.since}: misses {missing[:3]}, has {surplus[:3]} too many or again")
    return faults


async def play(runs: int, seed: int) -> list[str]:
    """Play runs on one cluster; return the violations."""
    all_violations: list[str] = []
    flags = ("--heartbeat-interval=50", "--election-timeout=500", "--snapshot-count=200")
    with EtcdCluster(3, flags=flags) as cluster:
        for number in range(seed, seed + runs):
            run = Run(cluster, number)
            violations = await run.play()
            print(
                f"seed {number}: {len(run.faults)} faults, {len(run._operations)} operations, {len(violations)} violations"
            )
            for violation in violations:
                print(f"  {violation}")
            if violations:
                print(f"  faults: {'; '.join(run.faults)}")
            all_violations += violations
    return all_violations


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return 1 if asyncio.run(play(arguments.runs, arguments.seed)) else 0


if __name__ == "__main__":
    sys.exit(main())
