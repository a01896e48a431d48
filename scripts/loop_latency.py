"""Measure how long an API server does not answer ``/livez`` while it processes the most expensive legal requests.

    python scripts/loop_latency.py             # all of them
    python scripts/loop_latency.py rules yaml  # those whose names begin so
    python scripts/loop_latency.py --memory    # objects in memory; default: in a database on disk
    python scripts/loop_latency.py --limit 100 # exit with 1 if the server held back an answer for more milliseconds of CPU

Each request is sent once, on a connection of its own, while another process requests ``/livez`` every few milliseconds. The
table has the code, duration and CPU time of the request, and of the slowest answer of ``/livez`` the wall time and the CPU
time that the server spent meanwhile, in all threads. Only the latter does not depend on other work on the machine. It
is an upper bound of the time that the event loop or the interpreter lock was held.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from expensive_requests import Case, Client, cases, connection

from steersman.testing import ControlPlane

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Probes run ahead of the requests, so that an answer is read when it arrives; needs the right to do so.
PRIORITY = -10


class Latency(NamedTuple):
    """Slowest answers of ``/livez``, in seconds."""

    wall: float
    #: CPU time of the server between a request and its answer.
    cpu: float


def cpu_clock(pid: int) -> int:
    """Return the clock of the CPU time of a process. See clock_getcpuclockid(3)."""
    return (~pid << 3) | 2


def probe(url: str, ca: str, token: str, pid: int, channel: Connection) -> None:
    """Request ``/livez`` between two messages on ``channel``, and answer the second one with the ``Latency``."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    link, clock = connection(url, ca), cpu_clock(pid)
    headers = {"authorization": f"Bearer {token}"}
    with suppress(EOFError):
        while channel.recv():
            wall = cpu = 0.0
            while not channel.poll(0.002):
                start, cpu_start = time.perf_counter(), time.clock_gettime(clock)
                link.request("GET", "/livez", headers=headers)
                link.getresponse().read()
                wall, cpu = (
                    max(wall, time.perf_counter() - start),
                    max(cpu, time.clock_gettime(clock) - cpu_start),
                )
            channel.recv()
            channel.send(Latency(wall, cpu))


def measure(server: ControlPlane, case: Case, prober: Connection) -> tuple[int, float, float, Latency]:
    """Return code, duration and CPU time of a case, and the latency of ``/livez`` meanwhile."""
    client, clock = Client(server), cpu_clock(server.pid)
    prober.send(True)
    time.sleep(0.1)  # the first probes connect
    start, cpu_start = time.perf_counter(), time.clock_gettime(clock)
    code, text = case.send(client)
    seconds, cpu_seconds = time.perf_counter() - start, time.clock_gettime(clock) - cpu_start
    prober.send(True)
    if code >= 400:
        print(f"    {text[:400]!r}", file=sys.stderr)
    return code, seconds, cpu_seconds, prober.recv()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of the cases' names; default: all")
    parser.add_argument("--memory", action="store_true", help="keep objects in memory")
    parser.add_argument("--limit", type=float, help="milliseconds of CPU that no answer of /livez may take longer than")
    options = parser.parse_args()
    names: list[str] = options.names
    is_exceeded = False
    prepared = set()
    with ControlPlane(ephemeral=options.memory) as server:
        channel, prober = multiprocessing.Pipe()
        arguments = (server.url, str(server.ca), server.token, server.pid, channel)
        multiprocessing.get_context("spawn").Process(target=probe, args=arguments, daemon=True).start()
        for case in cases():
            if names and not case.name.startswith(tuple(names)):
                continue
            if case.prepare is not None and case.prepare not in prepared:
                prepared.add(case.prepare)
                case.prepare(Client(server))
            code, seconds, cpu_seconds, latency = measure(server, case, prober)
            is_exceeded |= options.limit is not None and latency.cpu * 1000 > options.limit
            print(
                f"{case.name:45} {code} {seconds * 1000:7.0f} ms, {cpu_seconds * 1000:7.0f} ms of CPU   "
                f"/livez {latency.wall * 1000:5.0f} ms, {latency.cpu * 1000:5.0f} ms of CPU",
                flush=True,
            )
        print("\n".join(line for line in server.log.splitlines() if "held the event loop" in line))
    return 1 if is_exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
