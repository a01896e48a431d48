"""Durable POST on one local etcd member beside bare puts of the same size, and POST, GET and LIST beside SQLite.

    python -m benchmarks.etcd [--seconds 3] [--rounds 5]

All in one run, in turns, with the same number of connections. Bare puts are etcd's ``Put`` by gRPC without conditions, in
this process.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import statistics
import time
from typing import TYPE_CHECKING

import uvloop
from grpc import aio
from scripts.etcd_cluster import EtcdCluster

from benchmarks.client import load
from benchmarks.rates import config_map
from benchmarks.servers import api_server
from steersman.apimachinery.protowire import length_delimited

if TYPE_CHECKING:
    from benchmarks.client import Target

CONNECTIONS = 16
#: Objects that are listed.
_LISTED = 100
_MAPS = "/api/v1/namespaces/default/configmaps"
#: Bytes of a stored ConfigMap.
_VALUE_BYTES = 500
#: POST reaches at least so much of the rate of bare puts.
_POST_MIN = 0.60


async def bare_puts(url: str, seconds: float) -> float:
    """Return puts per second."""
    numbers, value, done = itertools.count(), b"x" * _VALUE_BYTES, 0
    stop = time.perf_counter() + seconds
    salt = time.time_ns()

    async def put() -> None:
        nonlocal done
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with aio.insecure_channel(url.removeprefix("http://"), options=options) as channel:
            method = channel.unary_unary("/etcdserverpb.KV/Put")
            while time.perf_counter() < stop:
                key = b"/bare/%d/%d" % (salt, next(numbers))
                await method(length_delimited(1, key) + length_delimited(2, value))
                done += 1

    started = time.perf_counter()
    await asyncio.gather(*(put() for _ in range(CONNECTIONS)))
    return done / (time.perf_counter() - started)


def requests(target: Target, method: str, path: str, seconds: float, names: itertools.count[int]) -> float:
    """Return requests per second; a POST creates ConfigMaps."""

    def make() -> bytes:
        return target.request(method, path, config_map(f"m-{next(names)}") if method == "POST" else b"")

    result = uvloop.run(load(target, make, seconds=seconds, connections=CONNECTIONS))
    if result.errors:
        raise RuntimeError(f"answers with errors: {result.errors}")
    return result.rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    names = itertools.count()
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(EtcdCluster())
        on_etcd = stack.enter_context(api_server(extra=(f"--etcd-servers={cluster.urls[0]}",))).target
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
                rates[name].append(measure())
    for name, values in rates.items():
        print(f"{name:26} {statistics.median(values):8.0f}/s")
    share = statistics.median(a / b for a, b in zip(rates["POST on etcd"], rates["bare puts"], strict=True))
    print(f"POST reaches {share:.0%} of bare puts (goal {_POST_MIN:.0%})")


if __name__ == "__main__":
    main()
