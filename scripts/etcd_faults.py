"""Random faults of etcd members, API servers and the network between them, with a check of the whole history.

``--mode stores``: three members run as processes; three stores, as of three API servers, reach each of them through a TCP proxy
of their own. While the stores write, read and watch, members are killed, paused and restarted, links are cut or freeze, history
is compacted behind a store that is cut off, and stores are closed and opened again. ``--mode servers``: API servers as processes
(``scripts.etcd_server_faults``). Then everything is healed, and the history must hold (``scripts.etcd_history``).

A run after which etcd's members hold different data is void, and the next one starts other members: etcd 3.5.0 to 3.5.2 lose
consistency when a member is killed (https://github.com/etcd-io/etcd/issues/13766).

``python -m scripts.etcd_faults --mode servers --runs 200 --seed 1``; a failing run prints its seed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from random import Random

from scripts.etcd_cluster import EtcdCluster
from scripts.etcd_history import Operation, Watched, check
from scripts.etcd_links import Link
from scripts.etcd_server_faults import ServerRun, running_servers

from steersman.asynckit.clock import RealClock
from steersman.storage.etcd.store import EtcdStore
from steersman.storage.store import Conflict, Event, KeyValue, Put, StoreError

KEYS = [f"/k/{number}" for number in range(4)]
STORES = 3
#: Seconds of faults in a run, and of waiting for everything to work again.
FAULT_SECONDS = 2.0
HEAL_SECONDS = 120
CLOCK = RealClock()


class Run:
    """One seeded run on a cluster."""

    def __init__(self, cluster: EtcdCluster, seed: int) -> None:
        self._cluster = cluster
        self._dice = Random(seed)
        self._prefix = f"/run-{seed}"
        self._links = [[Link(member) for member in cluster.members] for _ in range(STORES)]
        self._stores: list[EtcdStore] = []
        self.operations: list[Operation] = []
        self._watched: list[Watched] = []
        self._live: list[Watched] = []
        #: etcd's own history of the run, up to the revision ``_recorded``.
        self._history: list[Event] = []
        self._recorded = 0
        self._time = 0
        self._is_over = False
        self.faults: list[str] = []

    def _tick(self) -> int:
        self._time += 1
        return self._time

    async def play(self) -> list[str]:
        """Return the violations in the history."""
        for links in self._links:
            for link in links:
                await link.open()
        try:
            self._stores = [await self._open(number) for number in range(STORES)]
            self._recorded = self._stores[0].revision
            self._live = [await self._watch(store) for store in self._stores]
            work = [asyncio.create_task(self._work(number)) for number in range(STORES) for _ in range(2)]
            await self._disturb()
            self._is_over = True
            await asyncio.gather(*work)
            await self._settle()
            await self._record()
            return check(self.operations, self._watched, self._history)
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
            await CLOCK.sleep(dice.random() * 0.05)

    async def _read(self, number: int, key: str, observed: dict[str, KeyValue | None]) -> None:
        begin = self._tick()
        kv = await self._stores[number].get(key)
        observed[key] = kv
        revision, value = (kv.mod_revision, kv.value) if kv else (0, None)
        self.operations.append(Operation("read", key, begin, self._tick(), revision, value))
        # a read from the cache: what the watch has delivered, at a revision that is asked for
        begin, watched, store = self._tick(), self._live[number], self._stores[number]
        await store.current_revision()
        if watched is not self._live[number]:
            return
        if watched.is_lost:
            self._live[number] = await self._watch(store)
            return
        mine = [event for event in watched.events if event.key == key]
        if mine:
            self.operations.append(
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
        self.operations.append(Operation("write", key, begin, self._tick(), revision, value))
        observed.pop(key, None)

    # -- the faults ----------------------------------------------------------------------------------------------------

    async def _disturb(self) -> None:
        deadline = CLOCK.monotonic() + FAULT_SECONDS
        while CLOCK.monotonic() < deadline:
            await CLOCK.sleep(self._dice.uniform(0.1, 0.4))
            fault = self._dice.choice(["kill", "pause", "cut", "freeze", "cut all", "compact", "reopen"])
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
            elif fault == "compact":
                await self._compact_behind(number)
            else:
                links = self._links[number]
                for link in links if fault == "cut all" else [self._dice.choice(links)]:
                    link.freeze() if fault == "freeze" else link.cut()
                await CLOCK.sleep(self._dice.uniform(0.1, 1.0))
                for link in links:
                    link.heal()

    async def _reopen(self, number: int) -> None:
        """Close a store as if its API server ended, and open another one."""
        before = self._stores[number]
        store = await self._open(number)
        self._live[number] = await self._watch(store)
        self._stores[number] = store
        await before.close()

    async def _compact_behind(self, number: int) -> None:
        """Compact revisions that a disconnected store has not received."""
        for link in self._links[number]:
            link.cut()
        await CLOCK.sleep(self._dice.uniform(0.1, 0.5))
        await self._record()
        with contextlib.suppress(StoreError):
            await self._stores[(number + 1) % STORES].compact(self._recorded)
        for link in self._links[number]:
            link.heal()

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

    async def _record(self) -> None:
        """Append etcd's events since the last call to the history."""
        store = await EtcdStore.open(
            self._cluster.urls,
            clock=CLOCK,
            prefix=self._prefix,
            compaction_interval_seconds=0,
            open_seconds=HEAL_SECONDS,
        )
        events = Watched(self._recorded)
        try:
            await store.watch("/k/", events, after_revision=self._recorded, on_lost=events.lose)
            self._history += events.events
            self._recorded = max(store.revision, events.until)  # history may be ahead of the store's own watch
        finally:
            await store.close()


async def play(mode: str, runs: int, seed: int) -> list[str]:
    """Play runs, on one cluster if its members stay consistent; return the violations."""
    violations: list[str] = []
    seeds = list(range(seed, seed + runs))
    while seeds:
        violations += await _play_on_cluster(mode, seeds)
    return violations


async def _play_on_cluster(mode: str, seeds: list[int]) -> list[str]:
    """Play the runs of ``seeds``, which are removed, until a run is void; return the violations."""
    all_violations: list[str] = []
    flags = ("--heartbeat-interval=50", "--election-timeout=500", "--snapshot-count=200")
    with EtcdCluster(3, flags=flags) as cluster:
        async with contextlib.AsyncExitStack() as stack:
            servers = await stack.enter_async_context(running_servers(cluster)) if mode == "servers" else []
            while seeds:
                seed = seeds.pop(0)
                run = ServerRun(cluster, servers, seed) if servers else Run(cluster, seed)
                violations = await run.play()
                if violations and not await asyncio.to_thread(cluster.is_consistent):
                    print(f"{mode} seed {seed}: void, the members of etcd hold different data", flush=True)
                    break
                print(
                    f"{mode} seed {seed}: {len(run.faults)} faults, {len(run.operations)} operations, "
                    f"{len(violations)} violations",
                    flush=True,
                )
                for violation in violations:
                    print(f"  {violation}")
                if violations:
                    print(f"  faults: {'; '.join(run.faults)}")
                    for server in servers:
                        print("\n".join(server.last_log_lines()), flush=True)
                all_violations += violations
    return all_violations


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mode", choices=("stores", "servers"), default="stores")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return 1 if asyncio.run(play(arguments.mode, arguments.runs, arguments.seed)) else 0


if __name__ == "__main__":
    sys.exit(main())
