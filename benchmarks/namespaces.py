"""Deletion of a namespace with 5,000 objects, and the cost of 10,000 idle objects before.

``python -m benchmarks.namespaces``; exit code 1 when a target is missed. The controller manager is a separate process
with all its controllers; its idle CPU time is printed as share of one core.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from benchmarks.run import Report, fill
from benchmarks.servers import Server, api_server
from steersman.client import connect, tree
from steersman.client.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.client import Client

GONE_SECONDS_MAX = 20.0
IDLE_SHARE_MAX = 0.01
IDLE_SECONDS = 20.0
SETTLE_SECONDS = 5.0
EACH = 1_000
NAMESPACES = ("doomed", "idle")
NAMESPACE = tree("v1", "Namespace")

_SPEC = {"containers": [{"name": "c", "image": "image"}]}
KINDS: dict[str, dict[str, object]] = {
    "/api/v1/namespaces/{}/configmaps": {"data": {"a": "b"}},
    "/api/v1/namespaces/{}/secrets": {},
    "/api/v1/namespaces/{}/serviceaccounts": {},
    "/api/v1/namespaces/{}/pods": {"spec": _SPEC},
    "/apis/coordination.k8s.io/v1/namespaces/{}/leases": {"spec": {}},
}


def body(more: dict[str, object]) -> Callable[[str], bytes]:
    return lambda name: json.dumps({"metadata": {"name": name}, **more}).encode()


def cpu_seconds(pid: int) -> float:
    """Return user and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def prepare(client: Client) -> None:
    """Create the namespaces, and wait for the service account that their controller creates."""
    account = tree("v1", "ServiceAccount")
    for name in NAMESPACES:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        while True:
            try:
                await client.get(account, "default", namespace=name)
                break
            except NotFound:
                await asyncio.sleep(0.1)


async def seconds_to_go(client: Client, name: str) -> float:
    """Return the seconds from the delete request until the namespace is removed."""
    async with client.watch(NAMESPACE, field_selector={"metadata.name": name}) as events:
        started = time.perf_counter()
        await client.delete(NAMESPACE, name)
        async for event in events:
            if event.type == "DELETED":
                break
        return time.perf_counter() - started


async def measure(report: Report, server: Server, manager: subprocess.Popen[bytes]) -> None:
    async with connect(Path(server.directory) / "bench.kubeconfig") as client:
        await prepare(client)
        for name in NAMESPACES:
            for path, more in KINDS.items():
                await asyncio.to_thread(fill, server.target, path.format(name), body(more), EACH, "x")
        await asyncio.sleep(SETTLE_SECONDS)
        before = cpu_seconds(manager.pid)
        await asyncio.sleep(IDLE_SECONDS)
        share = (cpu_seconds(manager.pid) - before) / IDLE_SECONDS
        count = EACH * len(KINDS) * len(NAMESPACES)
        text = f"{share:8.2%} of a core for {count} objects (< {IDLE_SHARE_MAX:.0%})"
        report.line("controllers at rest", text, is_met=share < IDLE_SHARE_MAX)
        before = cpu_seconds(manager.pid)
        seconds = await seconds_to_go(client, NAMESPACES[0])
        spent = cpu_seconds(manager.pid) - before
        text = f"{seconds:8.2f} s for {EACH * len(KINDS)} objects (≤ {GONE_SECONDS_MAX:.0f} s), {spent:.2f} s of the manager's core"
        report.line("a namespace is gone after", text, is_met=seconds <= GONE_SECONDS_MAX)


def main() -> int:
    report = Report()
    with api_server() as server:
        kubeconfig = Path(server.directory) / "bench.kubeconfig"
        command = [sys.executable, "-m", "steersman", "controller-manager", f"--kubeconfig={kubeconfig}"]
        with subprocess.Popen([*command, "--leader-elect=false", "--port=0", "--v=0"]) as manager:
            try:
                uvloop.run(measure(report, server, manager))
            finally:
                manager.terminate()
    return 0 if report.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
