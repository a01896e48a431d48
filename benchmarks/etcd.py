"""Durable POST on one local etcd member beside bare puts of the same size, and POST, GET and LIST beside SQLite.

    python -m benchmarks.etcd [--seconds 3] [--rounds 5]

All in one run, in turns, with the same number of connections. Bare puts are etcd's ``Put`` without conditions, by the gRPC
client of the store, one connection per worker, in this process. The CPU time of an operation in this process, the API server
and etcd is reported beside the rates: unlike these it changes little under other load.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop
from scripts.etcd_cluster import EtcdCluster

from benchmarks.client import Template, load
from benchmarks.rates import config_map
from benchmarks.servers import api_server
from steersman.apimachinery.protowire import length_delimited
from steersman.asynckit.clock import RealClock
from steersman.grpc.channel import Channel
from steersman.storage.etcd.members import target_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.client import Target

CONNECTIONS = 16
#: Objects that are listed.
_LISTED = 100
_MAPS = "/api/v1/namespaces/default/configmaps"
#: Bytes of a stored ConfigMap.
_VALUE_BYTES = 500
#: Minimum rate of POST relative to bare puts.
_POST_MIN = 0.60


async def bare_puts(url: str, seconds: float) -> float:
    """Return puts per second."""
    numbers, value, done = itertools.count(), b"x" * _VALUE_BYTES, 0
    stop = time.perf_counter() + seconds
    salt = time.time_ns()

    async def put() -> None:
        nonlocal done
        channel = Channel(target_of(url)[0], clock=RealClock())
        while time.perf_counter() < stop:
            key = b"/bare/%d/%d" % (salt, next(numbers))
            put = length_delimited(1, key) + length_delimited(2, value)
            await channel.unary("/etcdserverpb.KV/Put", put, timeout_seconds=8.0)
            done += 1
        await channel.close()

    started = time.perf_counter()
    await asyncio.gather(*(put() for _ in range(CONNECTIONS)))
    return done / (time.perf_counter() - started)


def requests(target: Target, method: str, path: str, seconds: float, names: itertools.count[int]) -> float:
    """Return requests per second; a POST creates ConfigMaps. Requests are prepared: encoding takes time of etcd's core."""
    if method == "POST":
        template = Template(target, path, config_map)

        def make() -> bytes:
            return template.request(b"m-%d" % next(names))
    else:
        request = target.request(method, path)

        def make() -> bytes:
            return request

    result = uvloop.run(load(target, make, seconds=seconds, connections=CONNECTIONS))
    if result.errors:
        raise RuntimeError(f"answers with errors: {result.errors}")
    return result.rate


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class CPUTimes:
    """CPU time per operation of the processes that take part."""

    def __init__(self, pids: dict[str, int]) -> None:
        self._pids = pids
        self._spent: dict[str, dict[str, float]] = {}
        self._operations: dict[str, float] = {}

    def measure(self, name: str, seconds: float, run: Callable[[], float]) -> float:
        """Run a measure of ``seconds`` and return its rate."""
        before = {role: cpu_seconds(pid) for role, pid in self._pids.items()}
        rate = run()
        spent = self._spent.setdefault(name, dict.fromkeys(self._pids, 0.0))
        for role, pid in self._pids.items():
            spent[role] += cpu_seconds(pid) - before[role]
        self._operations[name] = self._operations.get(name, 0.0) + rate * seconds
        return rate

    def text(self, name: str) -> str:
        """Return microseconds per operation, by role."""
        operations = max(1.0, self._operations[name])
        return ", ".join(f"{role} {spent / operations * 1e6:.0f}" for role, spent in self._spent[name].items())

    def total(self, name: str) -> float:
        """Return seconds per operation of all roles."""
        return sum(self._spent[name].values()) / max(1.0, self._operations[name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    names = itertools.count()
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(EtcdCluster())
        server = stack.enter_context(api_server(extra=(f"--etcd-servers={cluster.urls[0]}",)))
        member = cluster.members[0].process
        assert member is not None
        cpu = CPUTimes({"client": os.getpid(), "API server": server.process.pid, "etcd": member.pid})
        on_etcd = server.target
        on_sqlite = stack.enter_context(api_server()).target
        listed = f"/api/v1/namespaces/kube-system/configmaps?limit={_LISTED}"
        one = "/api/v1/namespaces/default"
        measures = {
            "bare puts": lambda: uvloop.run(bare_puts(cluster.urls[0], arguments.seconds)),
            "POST on etcd": lambda: requests(on_etcd, "POST", _MAPS, arguments.seconds, names),
            "POST on SQLite": lambda: requests(on_sqlite, "POST", _MAPS, arguments.seconds, names),
            "GET on etcd": lambda: requests(on_etcd, "GET", one, arguments.seconds, names),
            "GET on SQLite": lambda: requests(on_sqlite, "GET", one, arguments.seconds, names),
            "GET on etcd, from cache": lambda: requests(
                on_etcd, "GET", f"{one}?resourceVersion=0", arguments.seconds, names
            ),
            "LIST on etcd": lambda: requests(on_etcd, "GET", listed, arguments.seconds, names),
            "LIST on SQLite": lambda: requests(on_sqlite, "GET", listed, arguments.seconds, names),
        }
        rates: dict[str, list[float]] = {name: [] for name in measures}
        for _ in range(arguments.rounds):
            for name, measure in measures.items():
                rates[name].append(cpu.measure(name, arguments.seconds, measure))
    for name, values in rates.items():
        print(f"{name:26} {statistics.median(values):8.0f}/s   µs of CPU: {cpu.text(name)}")
    share = statistics.median(a / b for a, b in zip(rates["POST on etcd"], rates["bare puts"], strict=True))
    print(f"POST reaches {share:.0%} of bare puts (goal {_POST_MIN:.0%})")
    print(f"by CPU time of all three processes: {cpu.total('bare puts') / cpu.total('POST on etcd'):.0%}")


if __name__ == "__main__":
    main()
