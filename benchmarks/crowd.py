"""Cost of a large cluster of simulated nodes in one process: 50,000 pods on 5,000 nodes.

``python -m benchmarks.crowd``; ``--pods`` and ``--nodes`` for another size. Runs an API server and ``steersman nodes``
alone, one process each: pods are created with a node name, so that only nodes and server are measured. With
``--etcd`` three API servers share three etcd members, each on this machine; the nodes are at another server than the client. With
``--scheduled`` all components of ``steersman up`` run, and the scheduler binds. CPU time is printed beside wall time,
which means little on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import uvloop
from scripts.etcd_cluster import EtcdCluster

from benchmarks.client import Target, load
from benchmarks.rates import NAMESPACE, Report
from benchmarks.servers import processes
from benchmarks.whole import NODES, PODS, cpu_seconds, process_megabytes, until_ready
from steersman.client import Client, drop_managed_fields, tree
from steersman.client.changes import Deleted
from steersman.client.connecting import connect
from steersman.client.errors import AlreadyExists
from steersman.runtime.context import ControllerContext
from steersman.testing import ControlPlane

LEASES = tree("coordination.k8s.io/v1", "Lease")
_PATIENCE_SECONDS = 3_600.0
_REST_SECONDS = 30.0
#: API servers, and members, with ``--etcd``.
_SERVERS = 3
#: Target of benchmarks.whole: 5,000 nodes with heartbeats only cost at most half a core.
_CORES_MAX = 0.5


class Meter:
    """CPU time and memory used by the processes since the last reading."""

    def __init__(self, pids: dict[str, int]) -> None:
        self.pids = pids
        self.start()

    def start(self) -> None:
        self._used = {name: cpu_seconds(pid) for name, pid in self.pids.items()}
        self._started_at = time.perf_counter()

    def cpu(self) -> dict[str, float]:
        return {name: cpu_seconds(pid) - self._used[name] for name, pid in self.pids.items()}

    def summary(self) -> str:
        seconds = time.perf_counter() - self._started_at
        cpu = ", ".join(f"{name} {used:.1f} s" for name, used in self.cpu().items())
        memory = ", ".join(f"{name} {process_megabytes(pid):.0f} MB" for name, pid in self.pids.items())
        return f"{seconds:7.1f} s; CPU: {cpu}; memory: {memory}"

    def cores(self) -> float:
        return sum(self.cpu().values()) / (time.perf_counter() - self._started_at)


@contextmanager
def simulated(plane: ControlPlane, nodes: int) -> Iterator[int]:
    """Run ``steersman nodes`` with the server; yield its process ID."""
    command = [sys.executable, "-m", "steersman", "nodes", f"--kubeconfig={plane.kubeconfig}", f"--nodes={nodes}"]
    process = subprocess.Popen([*command, "--die-with-parent"], stdin=subprocess.PIPE)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def pod(number: int, nodes: int, *, scheduled: bool) -> bytes:
    # Without its volume the token needs no ConfigMap, which a controller would have to create.
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "nginx"}], "automountServiceAccountToken": False}
    if not scheduled:
        spec["nodeName"] = f"node-{number % nodes}"
    metadata = {"name": f"pod-{number}", "labels": {"app": "crowd"}}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}).encode()


def address_of(plane: ControlPlane) -> Target:
    address = urlsplit(plane.url)
    return Target(address.hostname or "", address.port or 443, str(plane.ca), plane.token)


async def fill(plane: ControlPlane, client: Client, pods: int, nodes: int, *, scheduled: bool) -> None:
    """Create the pods as fast as the server accepts them, and wait until all are Ready."""
    target, numbers = address_of(plane), itertools.count()

    def make() -> bytes:
        return target.request("POST", f"{NAMESPACE}/pods", pod(next(numbers), nodes, scheduled=scheduled))

    ready = asyncio.create_task(until_ready(client, PODS, pods, patience_seconds=_PATIENCE_SECONDS))
    result = await load(target, make, requests=pods)
    if result.errors:
        raise RuntimeError(f"creating pods: {result.errors}")
    await ready


async def empty(plane: ControlPlane, client: Client, pods: int) -> None:
    """Delete the pods one by one (a collection delete would exceed the request timeout) and wait until none is left."""
    target, numbers = address_of(plane), itertools.count()
    context, is_empty, left = ControllerContext(client, transform=drop_managed_fields), asyncio.Event(), set[str]()
    informer = context.informers.informer(PODS)

    def changed(change: Any) -> None:
        name = change.latest["metadata"]["name"]
        if not isinstance(change, Deleted):
            left.add(name)
            return
        left.discard(name)
        if not left:
            is_empty.set()

    informer.add_callback(changed)
    context.informers.start()
    try:
        await informer.wait_synced()
        result = await load(
            target, lambda: target.request("DELETE", f"{NAMESPACE}/pods/pod-{next(numbers)}"), requests=pods
        )
        if result.errors:
            raise RuntimeError(f"deleting pods: {result.errors}")
        await asyncio.wait_for(is_empty.wait(), _PATIENCE_SECONDS)
    finally:
        await context.informers.close()


async def measure(report: Report, meter: Meter, plane: ControlPlane, arguments: argparse.Namespace) -> None:
    pods, nodes = arguments.pods, arguments.nodes
    async with connect(plane.kubeconfig) as client:
        await until_ready(client, NODES, nodes, patience_seconds=_PATIENCE_SECONDS)
        report.line(f"{nodes} nodes are Ready", meter.summary())
        try:
            account = {"apiVersion": "v1", "kind": "ServiceAccount"}
            await client.create({**account, "metadata": {"name": "default", "namespace": "default"}})
        except AlreadyExists:
            pass  # its controller created it first
        meter.start()
        await fill(plane, client, pods, nodes, scheduled=arguments.scheduled)
        report.line(f"{pods} pods are Ready", meter.summary())
        meter.start()
        await asyncio.sleep(_REST_SECONDS)
        cores = meter.cores()
        report.line("at rest", f"{cores:.2f} cores (≤ {_CORES_MAX}); {meter.summary()}", is_met=cores <= _CORES_MAX)


async def until_beaten(report: Report, meter: Meter, plane: ControlPlane, nodes: int) -> None:
    """Wait until each node's heartbeat comes from the new process."""
    started_at = datetime.now(UTC).isoformat()
    async with connect(plane.kubeconfig) as client:
        context, done, beaten = ControllerContext(client), asyncio.Event(), set[str]()

        def changed(change: Any) -> None:
            if change.latest["spec"]["renewTime"] > started_at:
                beaten.add(change.latest["metadata"]["name"])
            if len(beaten) >= nodes:
                done.set()

        context.informers.informer(LEASES, namespace="kube-node-lease").add_callback(changed)
        context.informers.start()
        try:
            await asyncio.wait_for(done.wait(), _PATIENCE_SECONDS)
        finally:
            await context.informers.close()
    report.line("another process goes on", meter.summary())


async def measure_end(report: Report, meter: Meter, plane: ControlPlane, pods: int) -> None:
    meter.start()
    async with connect(plane.kubeconfig) as client:
        await empty(plane, client, pods)
    report.line(f"{pods} pods are deleted", meter.summary())


def run_on_etcd(report: Report, arguments: argparse.Namespace) -> None:
    with ExitStack() as stack:
        cluster = stack.enter_context(EtcdCluster(_SERVERS))
        flags = (f"--etcd-servers={','.join(cluster.urls)}",)
        planes = [stack.enter_context(ControlPlane(ephemeral=False, arguments=flags)) for _ in range(_SERVERS)]
        pids = {f"API server {number}": plane.pid for number, plane in enumerate(planes)}
        pids["nodes"] = stack.enter_context(simulated(planes[1], arguments.nodes))
        pids |= {f"etcd {member.name}": member.process.pid for member in cluster.members if member.process is not None}
        uvloop.run(measure(report, Meter(pids), planes[0], arguments))


def run(report: Report, arguments: argparse.Namespace) -> None:
    if arguments.etcd:
        run_on_etcd(report, arguments)
        return
    if arguments.scheduled:
        with ControlPlane(ephemeral=False, whole=True, nodes=arguments.nodes) as plane:
            meter = Meter(processes(plane.pid))
            uvloop.run(measure(report, meter, plane, arguments))
            uvloop.run(measure_end(report, meter, plane, arguments.pods))
        return
    with ControlPlane(ephemeral=False) as plane:
        with simulated(plane, arguments.nodes) as pid:
            uvloop.run(measure(report, Meter({**processes(plane.pid), "nodes": pid}), plane, arguments))
        # Another process takes over the state of the first.
        with simulated(plane, arguments.nodes) as pid:
            meter = Meter({**processes(plane.pid), "nodes": pid})
            uvloop.run(until_beaten(report, meter, plane, arguments.nodes))
            uvloop.run(measure_end(report, meter, plane, arguments.pods))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=50_000, help="how many (default %(default)s)")
    parser.add_argument("--nodes", type=int, default=5_000, help="how many (default %(default)s)")
    parser.add_argument(
        "--scheduled", action="store_true", help="with controllers and the scheduler, in one process with the nodes"
    )
    parser.add_argument("--etcd", action="store_true", help="three API servers on three etcd members")
    report = Report()
    run(report, parser.parse_args())
    return 0 if report.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
