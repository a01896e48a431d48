"""``make bench``: rates as ratios to a bare handler measured in the same run, start time, memory and watch latency.

Exit code 1 when a figure misses its target. ``--quick`` measures for a shorter time, ``--only NAME`` one part.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import uvloop

from benchmarks.access import measure_rbac
from benchmarks.applies import measure_apply
from benchmarks.client import Result, Target, Template, load, percentile
from benchmarks.definitions import measure_custom, measure_definitions
from benchmarks.rates import NAMESPACE, Report, config_map, fill, paired, pod, rate
from benchmarks.reads import measure_reads
from benchmarks.servers import Server, api_server, bare_server
from benchmarks.users import measure_users
from benchmarks.watchers import fan_out
from benchmarks.webhooks import measure_webhooks
from benchmarks.writes import measure_writes

PODS = 5_000
OBJECTS = 50_000
_PARTS = ["start", "rates", "access", "users", "writes", "reads", "watch", "memory", "informer"]
_PARTS += ["webhooks", "custom", "definitions"]


def prepare(server: Server) -> None:
    """Create the service account of pods, which a controller would create."""
    body = json.dumps({"metadata": {"name": "default"}}).encode()
    request = server.target.request("POST", f"{NAMESPACE}/serviceaccounts", body)
    uvloop.run(load(server.target, lambda: request, connections=1, requests=1))


def measure_get(report: Report, server: Server, bare: Target, seconds: float) -> None:
    fill(server.target, f"{NAMESPACE}/configmaps", config_map, 1, "get")
    get, small = server.target.request("GET", f"{NAMESPACE}/configmaps/get-0"), bare.request("GET", "/small")
    ours, theirs = paired(
        lambda: rate(server.target, lambda: get, seconds), lambda: rate(bare, lambda: small, seconds), 3
    )
    share = statistics.median(a.rate / b.rate for a, b in zip(ours, theirs, strict=True))
    mine, bare_rate = statistics.median(r.rate for r in ours), statistics.median(r.rate for r in theirs)
    report.line("GET by name", f"{mine:8.0f}/s  bare {bare_rate:8.0f}/s  {share:6.1%} (≥ 65 %)", is_met=share >= 0.65)


def measure_post(report: Report, server: Server, bare: Target, seconds: float) -> None:
    counter = itertools.count()

    def create(template: Template, prefix: bytes) -> Result:
        return rate(server.target, lambda: template.request(b"%b-%d" % (prefix, next(counter))), seconds)

    config_maps = Template(server.target, f"{NAMESPACE}/configmaps", config_map)
    pods = Template(server.target, f"{NAMESPACE}/pods", pod)

    def empty() -> Result:
        request = bare.request("POST", "/small", config_map("post-0"))
        return rate(bare, lambda: request, seconds)

    ours, theirs = paired(lambda: create(config_maps, b"post"), empty, 3)
    share = statistics.median(a.rate / b.rate for a, b in zip(ours, theirs, strict=True))
    mine, bare_rate = statistics.median(r.rate for r in ours), statistics.median(r.rate for r in theirs)
    p99 = percentile([x for r in ours for x in r.latencies], 0.99) * 1000
    text = f"{mine:8.0f}/s  bare {bare_rate:8.0f}/s  {share:6.1%} (≥ 25 %)  p99 {p99:.1f} ms"
    report.line("POST ConfigMap, durable", text, is_met=share >= 0.25)

    ours, theirs = paired(lambda: create(pods, b"p"), empty, 2)
    share = statistics.median(a.rate / b.rate for a, b in zip(ours, theirs, strict=True))
    mine = statistics.median(r.rate for r in ours)
    report.line("POST Pod, durable", f"{mine:8.0f}/s  {share:6.1%} (≥ 15 %)", is_met=share >= 0.15)


def measure_list(report: Report, server: Server, bare: Target, seconds: float, size: int) -> None:
    listing = server.target.request("GET", "/api/v1/pods?labelSelector=tier%3Dweb&resourceVersion=0")
    plain = server.target.request("GET", f"{NAMESPACE}/pods")
    large = bare.request("GET", "/large")

    def many(target: Target, request: bytes) -> Result:
        result = uvloop.run(load(target, lambda: request, connections=4, seconds=seconds))
        if result.errors:
            raise RuntimeError(f"answers with errors: {result.errors}")
        return result

    ours, theirs = paired(lambda: many(server.target, plain), lambda: many(bare, large), 3)
    share = statistics.median(a.bytes_rate / b.bytes_rate for a, b in zip(ours, theirs, strict=True))
    mine = statistics.median(r.bytes_rate for r in ours) / 1e6
    text = f"{mine:8.0f} MB/s of {size / 1e6:.1f} MB  {share:6.1%} of bare (≥ 85 %)"
    report.line(f"LIST {PODS} pods", text, is_met=share >= 0.85)
    selected = many(server.target, listing)
    report.line("LIST with a selector", f"{selected.bytes_rate / 1e6:8.0f} MB/s")


def measure_watch(report: Report, server: Server, seconds: float) -> None:
    latencies, expected = uvloop.run(fan_out(server.target, watchers=200, changes_per_second=500, seconds=seconds))
    p99 = percentile(latencies, 0.99) * 1000
    text = f"p50 {percentile(latencies, 0.5) * 1000:.1f} ms  p99 {p99:.1f} ms (≤ 20 ms)  {len(latencies)}/{expected} events"
    report.line("WATCH 200 × 500/s", text, is_met=p99 <= 20 and len(latencies) == expected)


def measure_start(report: Report, rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="steersman-bench-") as place:
        with api_server(directory=Path(place)):
            pass  # the first start creates certificates
        times = []
        for _ in range(rounds):
            with api_server(directory=Path(place)) as server:
                times.append(server.ready_seconds)
                idle = server.rss_bytes
    median = statistics.median(times)
    report.line("start to /readyz", f"{median * 1000:8.0f} ms median of {rounds} (≤ 500 ms)", is_met=median <= 0.5)
    report.line("memory idle", f"{idle / 1e6:8.0f} MB (≤ 90 MB)", is_met=idle <= 90e6)


def measure_memory(report: Report) -> None:
    with api_server() as server:
        before = server.rss_bytes
        prepare(server)
        fill(server.target, f"{NAMESPACE}/pods", pod, OBJECTS, "m")
        listing = server.target.request("GET", "/api/v1/pods")
        encoded = uvloop.run(load(server.target, lambda: listing, connections=1, requests=1)).received_bytes
        used = server.rss_bytes
    share = used / encoded
    text = f"{used / 1e6:8.0f} MB for {OBJECTS} pods of {encoded / 1e6:.0f} MB: {share:.2f} × (≤ 4 ×), idle {before / 1e6:.0f} MB"
    report.line("memory full", text, is_met=share <= 4)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure for a shorter time")
    parser.add_argument("--only", choices=_PARTS, help="one part")
    arguments = parser.parse_args()
    os.sync()  # data written just before must not be flushed during the measurement
    seconds = 1.0 if arguments.quick else 4.0
    report = Report()
    parts = [arguments.only] if arguments.only else _PARTS
    # Many short turns: a change of the machine's speed affects few of them.
    turn_seconds, rounds = (0.5, 3) if arguments.quick else (1.0, 7)
    if "start" in parts:
        measure_start(report, 3 if arguments.quick else 10)
    if "rates" in parts:
        with api_server() as server:
            prepare(server)
            fill(server.target, f"{NAMESPACE}/pods", pod, PODS, "l")
            size = uvloop.run(
                load(
                    server.target, lambda: server.target.request("GET", f"{NAMESPACE}/pods"), connections=1, requests=1
                )
            ).received_bytes
            with bare_server(server.directory / "data" / "pki", small_bytes=600, large_bytes=size) as bare:
                measure_get(report, server, bare, seconds)
                measure_list(report, server, bare, seconds, size)
                measure_post(report, server, bare, seconds)
                measure_apply(report, server, seconds)
    if "access" in parts:
        measure_rbac(report, seconds)
    if "users" in parts:
        measure_users(report, turn_seconds, rounds)
    if "writes" in parts:
        measure_writes(report, turn_seconds, rounds)
    if "reads" in parts:
        measure_reads(report, turn_seconds, rounds)
    if "watch" in parts:
        with api_server() as server:
            measure_watch(report, server, 2.0 if arguments.quick else 10.0)
    if "memory" in parts:
        measure_memory(report)
    if "informer" in parts:
        from benchmarks.informer import measure_informers  # noqa: PLC0415 — it needs this module

        measure_informers(report, 1 if arguments.quick else 3)
    if "webhooks" in parts:
        measure_webhooks(report, turn_seconds, rounds)
    if "custom" in parts:
        measure_custom(report, turn_seconds, rounds)
    if "definitions" in parts:
        measure_definitions(report, rounds=3)
    return 0 if report.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
