"""Reads of kubectl and dashboards: selected lists, Tables, and one GET over a new connection.

Each beside the bare handler, with a response of the same size, or also with a new connection for each request.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from benchmarks.client import Target, load, load_connecting
from benchmarks.rates import NAMESPACE, config_map, distinct_pod, fill, in_turns, median_rate, ratio
from benchmarks.servers import api_server, bare_server
from benchmarks.users import prepare, with_certificate

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.client import Result
    from benchmarks.rates import Report

_PODS = 5_000
#: Values of the label that lists select by.
_SHARDS = 10
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def _checked(result: Result) -> Result:
    if result.errors:
        raise RuntimeError(f"answers with errors: {result.errors}")
    return result


def _lists(target: Target, request: bytes, seconds: float) -> Callable[[], Result]:
    return lambda: _checked(uvloop.run(load(target, lambda: request, connections=4, seconds=seconds)))


def _answer_bytes(target: Target, request: bytes) -> int:
    return uvloop.run(load(target, lambda: request, connections=1, requests=1)).received_bytes


def _connects(target: Target, path: str, seconds: float) -> Callable[[], Result]:
    request = target.request("GET", path)
    return lambda: _checked(uvloop.run(load_connecting(target, request, seconds=seconds)))


def measure_reads(report: Report, seconds: float, rounds: int) -> None:
    counter = itertools.count(1_000_000)

    def sharded_pod(_: str) -> bytes:
        number = next(counter)
        tree = json.loads(distinct_pod(str(number)))
        tree["metadata"]["labels"]["shard"] = str(number % _SHARDS)
        return json.dumps(tree).encode()

    with api_server() as server:
        prepare(server)
        fill(server.target, f"{NAMESPACE}/pods", sharded_pod, _PODS, "l")
        fill(server.target, f"{NAMESPACE}/configmaps", config_map, 1, "get")
        _measure_lists(report, server.target, server.directory, seconds, rounds)
        user = with_certificate(server)
        with bare_server(server.directory / "data" / "pki", small_bytes=600, large_bytes=600) as bare:
            path = f"{NAMESPACE}/configmaps/get-0"
            results = in_turns(
                {
                    "static token": _connects(server.target, path, seconds),
                    "client certificate": _connects(user, path, seconds),
                    "bare": _connects(bare, "/small", seconds),
                    "bare with certificate": _connects(
                        Target(bare.host, bare.port, bare.ca_file, "", user.certificate), "/small", seconds
                    ),
                },
                rounds,
            )
    for name, beside in (("static token", "bare"), ("client certificate", "bare with certificate")):
        mine, theirs = results[name], results[beside]
        text = f"{median_rate(mine):8.0f}/s  bare {median_rate(theirs):.0f}/s  {ratio(mine, theirs):6.1%}"
        report.line(f"GET, new TLS, {name}", text)


def _measure_lists(report: Report, target: Target, directory: Path, seconds: float, rounds: int) -> None:
    selected = f"{NAMESPACE}/pods?labelSelector=shard%3D3"
    requests = {
        f"LIST {_PODS // _SHARDS} of {_PODS} by label": target.request("GET", selected),
        f"LIST {_PODS // _SHARDS} as a Table": target.request("GET", f"{NAMESPACE}/pods?limit=500", accept=_TABLE),
        f"LIST {_PODS} as a Table": target.request("GET", f"{NAMESPACE}/pods", accept=_TABLE),
    }
    for name, request in requests.items():
        size = _answer_bytes(target, request)
        with bare_server(directory / "data" / "pki", small_bytes=600, large_bytes=size) as bare:
            large = bare.request("GET", "/large")
            measures = {"ours": _lists(target, request, seconds), "bare": _lists(bare, large, seconds)}
            results = in_turns(measures, rounds)
        ours = results["ours"]
        text = f"{median_rate(ours):8.1f}/s of {size / 1e6:.2f} MB  {ratio(ours, results['bare']):6.1%} of bare"
        report.line(name, text)
