"""Durable transactions per second of the SQLite store beside an event loop with other work.

    python benchmarks/storage_writes.py [--writer thread] [--busy-us 150] [--writers 16] [--update] [--uvloop] [--think-ms 0]

Each client burns ``--busy-us`` of CPU on the loop (a request's share), passes through a system call, and waits for one
transaction; then it thinks for ``--think-ms`` on average, without which all go in step. Prints transactions, commits (each is
one fsync of the log) and their latency, the CPU time of the loop (besides the burning) and of the store's writer per transaction,
the duration of opening the store, and the memory of the process that writes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import time
from pathlib import Path

from steersman.asynckit.clock import RealClock
from steersman.storage.sqlite import SqliteStore
from steersman.storage.sqlite.pipeline import Pipeline
from steersman.storage.sqlite.process_writer import ProcessWriter
from steersman.storage.store import Put

PRELOADED = 16_000


class Tally:
    def __init__(self):
        self.latencies = []
        self.burned_seconds = 0.0
        self.commits = 0
        self.open_seconds = 0.0
        self.writer_rss = ""


def burn(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def count_commits(tally):
    settle = Pipeline._settle

    def counting(self, frames, error):
        tally.commits += frames > 0
        settle(self, frames, error)

    Pipeline._settle = counting


async def write(store, number, args, value, tally, stop):
    rng = random.Random(number)
    pipe = os.pipe()
    while time.perf_counter() < stop:
        before = time.thread_time()
        burn(args.busy_us * 1e-6)
        os.write(pipe[1], b"x")
        os.read(pipe[0], 1)
        tally.burned_seconds += time.thread_time() - before
        if args.update:
            key = f"/registry/pods/ns/{rng.randrange(PRELOADED)}"
        else:
            key = f"/registry/pods/ns{number}/{rng.getrandbits(60):x}"
        started = time.perf_counter()
        await store.txn([Put(key, value)])
        tally.latencies.append(time.perf_counter() - started)
        if args.think_ms:
            await asyncio.sleep(rng.expovariate(1e3 / args.think_ms))
    os.close(pipe[0])
    os.close(pipe[1])


async def measure(args):
    tally, value = Tally(), os.urandom(args.value_bytes)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        count_commits(tally)
        opening = time.perf_counter()
        store = await SqliteStore.open(Path(folder) / "store.db", clock=RealClock(), writer=args.writer)
        tally.open_seconds = time.perf_counter() - opening
        pid, task = writer_ids(store._pipeline.writer)
        for first in range(0, PRELOADED, 500):
            await store.txn([Put(f"/registry/pods/ns/{n}", value) for n in range(first, first + 500)])
        await store.watch("/registry/pods/", len_of_events, after_revision=store.revision, on_lost=print)
        tally.commits = 0
        wall, loop_cpu, writer_cpu = time.perf_counter(), time.thread_time(), cpu_seconds(pid, task)
        stop = wall + args.seconds
        await asyncio.gather(*(write(store, n, args, value, tally, stop) for n in range(args.writers)))
        wall, loop_cpu = time.perf_counter() - wall, time.thread_time() - loop_cpu
        writer_cpu = cpu_seconds(pid, task) - writer_cpu
        tally.writer_rss = rss(pid)
        await store.close()
    report(tally, wall=wall, loop_cpu=loop_cpu, writer_cpu=writer_cpu)


def writer_ids(writer):
    """Return the ids of the process and the thread that write."""
    if isinstance(writer, ProcessWriter):
        pid = writer._child.process.pid
        return pid, pid
    return os.getpid(), writer._worker.native_id


def cpu_seconds(pid, task):
    return int(Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0]) * 1e-9


def rss(pid):
    return next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))


def len_of_events(batch):
    return len(batch.events)


def report(tally, *, wall, loop_cpu, writer_cpu):
    latencies = sorted(tally.latencies)
    count = len(latencies)
    print(
        f"{count / wall:.0f} txn/s, {tally.commits / wall:.0f} commits/s ({count / tally.commits:.1f} each); "
        f"latency p50 {latencies[count // 2] * 1e3:.2f} ms, p99 {latencies[count * 99 // 100] * 1e3:.2f} ms, "
        f"max {latencies[-1] * 1e3:.0f} ms; per txn: loop {(loop_cpu - tally.burned_seconds) / count * 1e6:.1f} us, "
        f"writer {writer_cpu / count * 1e6:.1f} us; loop busy {loop_cpu / wall:.0%}; "
        f"opened in {tally.open_seconds * 1e3:.0f} ms; writer {tally.writer_rss}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", choices=("process", "thread"), default="process")
    parser.add_argument("--writers", type=int, default=16, help="concurrent clients")
    parser.add_argument("--busy-us", type=float, default=150)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--value-bytes", type=int, default=1500)
    parser.add_argument("--update", action="store_true", help="overwrite keys instead of creating them")
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--think-ms", type=float, default=0)
    parser.add_argument("--folder", default=".", help="on the disk to measure; not a tmpfs")
    args = parser.parse_args()
    if args.uvloop:
        import uvloop  # noqa: PLC0415 — only when asked for

        uvloop.run(measure(args))
    else:
        asyncio.run(measure(args))


if __name__ == "__main__":
    main()
