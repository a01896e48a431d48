"""End-to-end figures of ``steersman up``: time to a Ready node, a thousand pods, a thousand nodes, cost of heartbeats.

``python -m benchmarks.whole``; ``--only NAME`` one part. Exit code 1 when a target is missed. CPU time of the API
server and of the components is printed beside wall time: it remains comparable on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.client import percentile
from benchmarks.rates import Report
from benchmarks.servers import processes
from steersman.client import Client, tree
from steersman.client.changes import Deleted
from steersman.client.connecting import connect
from steersman.runtime.context import ControllerContext
from steersman.testing import ControlPlane

PODS, NODES = tree("v1", "Pod"), tree("v1", "Node")
ACCOUNTS = tree("v1", "ServiceAccount")
_TICKS = os.sysconf("SC_CLK_TCK")


class Costs:
    """CPU time of a control plane's processes."""

    def __init__(self, plane: ControlPlane) -> None:
        self._pids = processes(plane.pid)
        self._start = {name: cpu_seconds(pid) for name, pid in self._pids.items()}
        self._started_at = time.perf_counter()

    def summary(self) -> str:
        return "CPU: " + ", ".join(f"{name} {used:.1f} s" for name, used in self._used().items())

    def cores(self) -> float:
        return sum(self._used().values()) / (time.perf_counter() - self._started_at)

    def rss_megabytes(self) -> dict[str, float]:
        return {name: process_megabytes(pid) for name, pid in self._pids.items()}

    def _used(self) -> dict[str, float]:
        return {name: cpu_seconds(pid) - self._start[name] for name, pid in self._pids.items()}


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def process_megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


@contextmanager
def plane(nodes: int) -> Iterator[ControlPlane]:
    with ControlPlane(ephemeral=False, whole=True, nodes=nodes) as started:
        yield started


def is_ready(obj: dict[str, Any]) -> bool:
    conditions = obj.get("status", {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


async def until_ready(
    client: Client,
    resource: Any,
    count: int,
    *,
    on_ready: Callable[[str], None] = lambda _: None,
    patience_seconds: float = 120.0,
) -> None:
    """Wait until ``count`` objects are Ready, as observed by an informer; ``on_ready`` receives their names."""
    context, done, seen = ControllerContext(client), asyncio.Event(), set[str]()

    def changed(change: Any) -> None:
        name = change.latest["metadata"]["name"]
        if not isinstance(change, Deleted) and name not in seen and is_ready(change.latest):
            seen.add(name)
            on_ready(name)
            if len(seen) >= count:
                done.set()

    context.informers.informer(resource).add_callback(changed)
    context.informers.start()
    try:
        await asyncio.wait_for(done.wait(), patience_seconds)
    finally:
        await context.informers.close()


async def measure_start(report: Report) -> None:
    started_at = time.perf_counter()
    with plane(1) as started:
        async with connect(started.kubeconfig) as client:
            await until_ready(client, NODES, 1)
            took = time.perf_counter() - started_at
            await asyncio.sleep(2)
        costs = Costs(started)
        memory = costs.rss_megabytes()
        cpu = sum(map(cpu_seconds, costs._pids.values()))
        text = f"{took:5.2f} s to a Ready node (≤ 1.5 s), {cpu:.2f} s of CPU"
        report.line("up", text, is_met=took <= 1.5)
        total = sum(memory.values())
        parts = ", ".join(f"{name} {megabytes:.0f}" for name, megabytes in memory.items())
        report.line("memory of up", f"{total:5.0f} MB (≤ 250 MB): {parts}", is_met=total <= 250)


async def measure_deployment(report: Report) -> None:
    pods = 1_000
    with plane(20) as started:
        async with connect(started.kubeconfig) as client:
            await until_ready(client, NODES, 20)
            costs, started_at = Costs(started), time.perf_counter()
            labels = {"app": "web"}
            template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
            spec = {"replicas": pods, "selector": {"matchLabels": labels}, "template": template}
            metadata = {"name": "web", "namespace": "default"}
            await client.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
            await until_ready(client, PODS, pods)
            took = time.perf_counter() - started_at
        text = f"{took:5.2f} s until {pods} pods are Ready (≤ 5 s), {pods / took:.0f} pods/s; {costs.summary()}"
        report.line("a large deployment", text, is_met=took <= 5)


async def measure_nodes(report: Report) -> None:
    started_at = time.perf_counter()
    with plane(1_000) as started:
        async with connect(started.kubeconfig) as client:
            await until_ready(client, NODES, 1)
            costs, first = Costs(started), time.perf_counter()
            await until_ready(client, NODES, 1_000)
            took = time.perf_counter() - first
        text = (
            f"{took:5.2f} s from the first of 1,000 Ready to the last (≤ 3 s), {time.perf_counter() - started_at:.2f} s"
        )
        report.line("nodes registered", f"{text} from the start; {costs.summary()}", is_met=took <= 3)


async def measure_heartbeats(report: Report) -> None:
    with plane(5_000) as started:
        async with connect(started.kubeconfig) as client:
            await until_ready(client, NODES, 5_000)
            # Controllers clear the taints of each node, one after the other: these writes are not heartbeats.
            while any(node["spec"].get("taints") for node in await client.list_all(NODES)):
                await asyncio.sleep(5)
        await asyncio.sleep(5)
        costs = Costs(started)
        await asyncio.sleep(20)
        cores = costs.cores()
        report.line(
            "5,000 nodes beating", f"{cores:5.2f} cores (≤ 0.5); {costs.summary()} in 20 s", is_met=cores <= 0.5
        )


async def measure_pod_starts(report: Report) -> None:
    pods, rate = 1_000, 100
    sent: dict[str, float] = {}
    took: list[float] = []
    with plane(20) as started:
        async with connect(started.kubeconfig) as client:
            await until_ready(client, NODES, 20)
            while not await client.list_all(ACCOUNTS, namespace="default"):
                await asyncio.sleep(0.05)  # a controller creates the service account of pods
            costs = Costs(started)

            def became_ready(name: str) -> None:
                took.append(time.perf_counter() - sent[name])

            watching = asyncio.create_task(until_ready(client, PODS, pods, on_ready=became_ready))
            started_at = time.perf_counter()
            creates = []
            for number in range(pods):
                await asyncio.sleep(max(0.0, started_at + number / rate - time.perf_counter()))
                name = f"pod-{number}"
                sent[name] = time.perf_counter()
                creates.append(asyncio.create_task(_create_pod(client, name)))
            await asyncio.gather(*creates)
            await watching
        p50, p99 = percentile(took, 0.5), percentile(took, 0.99)
        text = f"p50 {p50:5.3f} s, p99 {p99:5.3f} s (≤ 1 s) at {rate} pods/s; {costs.summary()}"
        report.line("pod start", text, is_met=p99 <= 1)


async def _create_pod(client: Client, name: str) -> None:
    spec = {"containers": [{"name": "c", "image": "nginx"}]}
    metadata = {"name": name, "namespace": "default"}
    await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


PARTS = {
    "start": measure_start,
    "deployment": measure_deployment,
    "nodes": measure_nodes,
    "heartbeats": measure_heartbeats,
    "pod-starts": measure_pod_starts,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="one part")
    arguments = parser.parse_args()
    report = Report()
    for name, measure in PARTS.items():
        if arguments.only in (None, name):
            uvloop.run(measure(report))
    return 0 if report.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
