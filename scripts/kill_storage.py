"""Kill a writing process many times, and check that the store keeps every acknowledged write.

    scripts/kill_storage.py --times 1000 --seed 1
    scripts/kill_storage.py --times 200 --damage
    scripts/kill_storage.py --times 100 --writer thread

Each round starts a child that opens the store and writes with many tasks at once, reporting each acknowledged write on
a pipe; kills it with SIGKILL at a random moment (while it starts, writes or compacts); opens the file in this process
and compares. In every other round the store's own process, which writes, is killed a few times before: the child sees
that exactly the writes that were refused did not happen, and goes on. Exits with 1 and says what is wrong at the first
difference. With ``--writer thread`` the children write in a thread, which dies with them.

With ``--damage``, one kill in ten is followed by damage to one of the files (truncated, emptied, deleted, bits flipped, a sector
zeroed). The store must then hold everything acknowledged, but for values that it reports as damaged, or refuse to open; after
``repair`` it must open at a revision that was never used. The undamaged files are then put back.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from steersman.asynckit.clock import RealClock
from steersman.storage.sqlite import CorruptStore, NotAStore, SchemaTooNew, SqliteStore, WritesMissing
from steersman.storage.sqlite.salvage import repair, salvage
from steersman.storage.store import CorruptValue, Delete, Put, StoreError, Unavailable

WRITERS = 16
KEYS_PER_WRITER = 20
SQUASHED = "/beat/"
#: Maximum lifetime of a child after its first acknowledged write.
LIFE_SECONDS_MAX = 0.4
#: One child in this many is killed during its start.
KILLED_EARLY = 5
#: In every other round the writer process is killed at most this often.
WRITERS_KILLED_MAX = 4
#: With ``--damage``, one kill in this many is followed by damage.
DAMAGED = 10
SECTOR_BYTES = 512


class Wrong(Exception):  # noqa: N818 — the script's verdict
    """The store violated a guarantee."""


# The child.


async def child(path: str, seed: int, writer_kind: str) -> None:
    rng = random.Random(seed)
    store = await SqliteStore.open(path, clock=RealClock(), squash_prefixes=[SQUASHED], writer=writer_kind)
    report(f"open {store.revision} -")
    writers = [asyncio.ensure_future(write(store, writer, random.Random(rng.random()))) for writer in range(WRITERS)]
    while True:
        await asyncio.wait(writers, timeout=0.05, return_when=asyncio.FIRST_COMPLETED)
        for writer in writers:
            if writer.done():
                writer.result()
        with contextlib.suppress(Unavailable):
            await store.compact(max(store.compact_revision, store.revision - 2000))


async def write(store: SqliteStore, writer: int, rng: random.Random) -> None:
    prefix = f"{SQUASHED if writer % 4 == 0 else '/key/'}{writer}/"
    present = {kv.key for kv in (await store.range(prefix)).kvs}
    serial = time.monotonic_ns()
    while True:
        serial += 1
        key = f"{prefix}{rng.randrange(KEYS_PER_WRITER)}"
        before = await store.get(key)
        if (before is not None) != (key in present):
            raise Wrong(f"{key}: is {before and text_of(before.value)} after a write that was refused or acknowledged")
        try:
            if key in present and rng.random() < 0.3:
                report(f"{key} {await store.txn([Delete(key)])} -")
                present.remove(key)
            else:
                value = f"{serial} {'x' * rng.randrange(3000)}".encode()
                report(f"{key} {await store.txn([Put(key, value)])} {serial}")
                present.add(key)
        except Unavailable:
            if await store.get(key) != before:
                raise Wrong(f"{key}: was written, but refused") from None


def report(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # unbuffered and whole: a reported write was acknowledged


# The parent.


class Ledger:
    """Acknowledged writes so far."""

    def __init__(self) -> None:
        self.revision = 0
        #: Key to (revision, serial as text, "-" if deleted) of the last acknowledged write.
        self.last: dict[str, tuple[int, str]] = {}
        #: Writes of the round that was killed last.
        self.recent: list[tuple[str, int, str]] = []
        self.writes = 0

    def read(self, lines: list[str]) -> None:
        self.recent = []
        newest = self.revision
        for line in lines:
            key, revision_text, serial = line.split(" ")
            revision = int(revision_text)
            if key == "open":
                if revision < self.revision:
                    raise Wrong(f"reopened at revision {revision}, was at {self.revision}")
                self.revision = newest = revision
                continue
            if revision <= self.revision:
                raise Wrong(f"{key}: revision {revision} was given before the kill already")
            newest = max(newest, revision)
            self.writes += 1
            if revision > self.last.get(key, (0, ""))[0]:
                self.last[key] = (revision, serial)
            self.recent.append((key, revision, serial))
        self.revision = newest


async def verify(path: Path, ledger: Ledger) -> None:
    """Open the store as the next process would, and compare it with the ledger."""
    store = await SqliteStore.open(path, clock=RealClock(), squash_prefixes=[SQUASHED])
    try:
        if store.revision < ledger.revision:
            raise Wrong(f"the store is at {store.revision}, {ledger.revision} was acknowledged")
        stored = {kv.key: kv for kv in (await store.range("/")).kvs}
        for key, (revision, serial) in ledger.last.items():
            check_key(key, revision, serial, stored.get(key), store.revision)
        events: dict[tuple[str, int], str] = {}

        def sink(batch) -> None:
            events.update(((event.key, event.mod_revision), text_of(event.value)) for event in batch.events)

        await store.watch("/", sink, after_revision=store.compact_revision, on_lost=lambda _error: None)
        for key, revision, serial in ledger.recent:
            readable = revision > store.compact_revision and not key.startswith(SQUASHED)
            if readable and events.get((key, revision)) != serial:
                raise Wrong(f"{key}: the history lacks revision {revision}")
        ledger.revision = store.revision
    finally:
        await store.close()


def check_key(key: str, revision: int, serial: str, kv, store_revision: int) -> None:
    """Check a key: a write that was not acknowledged may be present, but only after the last acknowledged one."""
    if kv is None:
        if serial != "-" and store_revision == revision:
            raise Wrong(f"{key}: revision {revision} is lost")
        return
    if kv.mod_revision < revision:
        raise Wrong(f"{key}: is at revision {kv.mod_revision}, {revision} was acknowledged")
    if kv.mod_revision == revision and text_of(kv.value) != serial:
        raise Wrong(f"{key}: revision {revision} holds another value")


# Damage.


def damage(path: Path, rng: random.Random) -> str:
    """Damage one file of the store; return a description."""
    parts = [part for suffix in ("", "-wal", "-ack") if (part := path.with_name(path.name + suffix)).exists()]
    part = rng.choice(parts)
    data = bytearray(part.read_bytes())
    kind = rng.choice(["truncated", "emptied", "deleted", "flipped", "flipped", "flipped", "zeroed"])
    if kind == "deleted" or not data:
        part.unlink()
        return f"{part.name} deleted"
    place = rng.randrange(len(data))
    if kind == "emptied":
        del data[:]
    elif kind == "truncated":
        del data[place:]
    elif kind == "zeroed":
        end = min(place + SECTOR_BYTES, len(data))
        data[place:end] = bytes(end - place)
    else:
        data[place] ^= 1 << rng.randrange(8)
    part.write_bytes(data)
    return f"{part.name} {kind} at {place}"


async def verify_damaged(path: Path, ledger: Ledger, rng: random.Random) -> str:
    """Damage the files, open and repair them, and restore them. Return the outcome."""
    aside = path.with_name("aside")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    parts = [part for suffix in ("", "-wal", "-ack") if (part := path.with_name(path.name + suffix)).exists()]
    for part in parts:
        shutil.copy(part, aside)
    description = damage(path, rng)
    try:
        outcome = await open_damaged(path, ledger)
        if outcome.startswith("refused"):
            await repair_damaged(path, ledger)
    except Wrong as wrong:
        raise Wrong(f"{description}: {wrong}") from None
    for leftover in path.parent.glob(f"{path.name}*"):
        if not leftover.name.endswith(".lock"):
            leftover.unlink()
    for part in parts:
        shutil.copy(aside / part.name, part)
    return f"{description}: {outcome}"


async def open_damaged(path: Path, ledger: Ledger) -> str:
    try:
        store = await SqliteStore.open(path, clock=RealClock(), squash_prefixes=[SQUASHED])
    except (WritesMissing, CorruptStore, NotAStore, SchemaTooNew) as error:
        return f"refused: {error}"
    corrupt: set[str] = set()
    try:
        if store.revision < ledger.revision:
            raise Wrong(f"the store is at {store.revision}, {ledger.revision} was acknowledged")
        try:
            kvs = (await store.range("/")).kvs
        except CorruptValue as error:
            kvs, corrupt = error.readable.kvs, set(error.keys)
        stored = {kv.key: kv for kv in kvs}
        for key, (revision, serial) in ledger.last.items():
            if key not in corrupt:
                check_key(key, revision, serial, stored.get(key), store.revision)
    finally:
        await store.close()
    return f"opened, {len(corrupt)} values damaged"


async def repair_damaged(path: Path, ledger: Ledger) -> None:
    try:
        salvaged = salvage(path)
    except StoreError:
        return  # the file is missing, or its header is unreadable
    repair(path, salvaged, suffix=".damaged")
    store = await SqliteStore.open(path, clock=RealClock(), squash_prefixes=[SQUASHED])
    try:
        if await store.txn([Put("/key/repaired", b"0 ")]) <= ledger.revision:
            raise Wrong("a revision is used again after the repair")
    finally:
        await store.close()


def text_of(value: bytes | None) -> str:
    return "-" if value is None else value.split(b" ", 1)[0].decode()


def run_and_kill(path: Path, rng: random.Random, writer_kind: str) -> list[str]:
    """Run one child and kill it; return its lines."""
    command = [sys.executable, __file__, "--child", str(path), "--seed", str(rng.randrange(1 << 30))]
    command += ["--writer", writer_kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines: list[str] = []
    started = threading.Event()

    def read() -> None:
        for line in process.stdout:
            if line.endswith("\n"):
                lines.append(line.rstrip("\n"))
            started.set()

    reader = threading.Thread(target=read)
    reader.start()
    early = rng.randrange(KILLED_EARLY) == 0
    started.wait(rng.random() * 0.3 if early else 30)
    if not early:
        kills = rng.randint(1, WRITERS_KILLED_MAX) if writer_kind == "process" and rng.random() < 0.5 else 0
        life_seconds = rng.random() * LIFE_SECONDS_MAX / (kills + 1)
        for kill in range(kills + 1):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(life_seconds)
            if kill < kills:
                kill_writer(process.pid)
    died_by_itself = process.poll() is not None
    process.kill()
    reader.join()
    errors = process.stderr.read()
    process.wait()
    if died_by_itself:
        raise Wrong(f"the child ended by itself:\n{errors}")
    return lines


def kill_writer(pid: int) -> None:
    """Kill the writer process of this process, if it has one at the moment."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child_pid in (task / "children").read_text().split():
                os.kill(int(child_pid), signal.SIGKILL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None, help="random when not given; printed")
    parser.add_argument("--damage", action="store_true", help="damage the files after one kill in ten")
    parser.add_argument("--writer", choices=("process", "thread"), default="process")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        asyncio.run(child(args.child, args.seed, args.writer))
    seed = random.SystemRandom().randrange(1 << 30) if args.seed is None else args.seed
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    ledger = Ledger()
    with tempfile.TemporaryDirectory(prefix="kill-storage-") as folder:
        path = Path(folder) / "store.db"
        for round_number in range(1, args.times + 1):
            try:
                ledger.read(run_and_kill(path, rng, args.writer))
                if args.damage and round_number % DAMAGED == 0:
                    print(f"round {round_number}: {asyncio.run(verify_damaged(path, ledger, rng))}", flush=True)
                asyncio.run(verify(path, ledger))
            except Wrong as wrong:
                print(f"round {round_number}: {wrong}")
                return 1
            if round_number % 50 == 0 or round_number == args.times:
                print(f"{round_number} kills, {ledger.writes} acknowledged writes, all kept", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
