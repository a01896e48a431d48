"""A ReplicationController scaled up and down by a separate controller process: Pods per second, calls per Pod.

python -m benchmarks.scaling --pods 1000

Exit code 1 when a figure misses its target. Needs two idle cores: one for the server, one for the controllers.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from benchmarks.servers import Server, api_server
from steersman.client import Client
from steersman.client.connecting import connect
from steersman.client.requests import read
from steersman.client.resource_types import tree

RATE_MIN = 600.0
#: One request for each Pod, up and down, and a tenth more for events and statuses.
CALLS_MAX = 1.1
CONTROLLER = tree("v1", "ReplicationController")


@contextlib.contextmanager
def controllers(server: Server) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``steersman controller-manager`` with the two controllers that matter here."""
    command = [
        *(sys.executable, "-m", "steersman", "controller-manager", "--port=0"),
        f"--kubeconfig={server.directory / 'bench.kubeconfig'}",
        "--controllers=replicationcontroller,serviceaccount",
        "--use-service-account-credentials",
    ]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


async def writes(client: Client) -> float:
    """Return the number of write requests that the server counted."""
    answer = await client.raw(read("/metrics"))
    samples = re.findall(rb"^apiserver_request_total\{([^}]*)\} ([0-9.e+]+)", answer.body, re.MULTILINE)
    return sum(float(count) for labels, count in samples if re.search(rb'verb="(POST|PUT|PATCH|DELETE)"', labels))


async def scale(client: Client, replicas: int) -> float:
    """Scale and return the seconds until the status has that number of replicas."""
    started_at = time.perf_counter()
    await client.patch(CONTROLLER, "bench", {"spec": {"replicas": replicas}}, namespace="default")
    while True:
        now = await client.get(CONTROLLER, "bench", namespace="default", resource_version="0")
        if now.get("status", {}).get("replicas") == replicas:
            return time.perf_counter() - started_at
        await asyncio.sleep(0.02)


async def prepared(client: Client) -> None:
    container = {"name": "c", "image": "image"}
    template = {"metadata": {"labels": {"app": "bench"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 0, "selector": {"app": "bench"}, "template": template}
    await client.create(
        {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "bench"}, "spec": spec},
        namespace="default",
    )
    # The first Pods warm up the account, the informers and every code path.
    await asyncio.sleep(2)
    await scale(client, 5)
    await scale(client, 0)


async def measure(server: Server, process: subprocess.Popen[bytes], pods: int) -> bool:
    is_met = True
    async with connect(server.directory / "bench.kubeconfig") as client:
        await prepared(client)
        for name, replicas in (("up", pods), ("down", 0)):
            calls, cpu, server_cpu = await writes(client), cpu_seconds(process), server.cpu_seconds()
            seconds = await scale(client, replicas)
            per_pod = (await writes(client) - calls - 1) / pods
            rate = pods / seconds
            used = cpu_seconds(process) - cpu, server.cpu_seconds() - server_cpu
            well = rate >= RATE_MIN and per_pod <= CALLS_MAX
            is_met = is_met and well
            print(
                f"{name:5} {rate:6.0f} pods/s (≥ {RATE_MIN:.0f})  {per_pod:5.3f} calls/pod (≤ {CALLS_MAX})  "
                f"with a core each {pods / max(used):6.0f} pods/s: "
                f"controllers {used[0] / pods * 1000:.2f} ms/pod, server {used[1] / pods * 1000:.2f}"
                f"{'' if well else '  MISSED'}"
            )
    return is_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--ephemeral", action="store_true", help="without waiting for a disk")
    arguments = parser.parse_args()
    with api_server(ephemeral=arguments.ephemeral) as server, controllers(server) as process:
        return 0 if uvloop.run(measure(server, process, arguments.pods)) else 1


if __name__ == "__main__":
    sys.exit(main())
