"""Measure hand-overs of coordinated elections and repairs of service addresses, with real processes.

    scripts/hand_over.py --times 20 --seed 1

Starts an API server and three replicas of ``controller-manager`` that take part in coordinated elections. Each round stops
the leader (SIGTERM) or kills it, measures the time until the Lease has a live holder that renewed it, and starts another
replica. Then the Service ``kubernetes``, its Endpoints and an IPAddress are deleted, as often, and the time is measured
until each is back. Prints median and maximum of each in seconds; ``docs/performance.md`` has them.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from steersman.client import tree
from steersman.client.connecting import connect
from steersman.testing import ControlPlane

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.client import Client

LEASES = tree("coordination.k8s.io/v1", "Lease")
CANDIDATES = tree("coordination.k8s.io/v1beta1", "LeaseCandidate")
NAME = "kube-controller-manager"
#: A wait that takes longer has failed.
PATIENCE_SECONDS = 90.0
#: Objects of the bootstrap controller that are deleted: resource and namespace.
LOST = {
    "Service": (tree("v1", "Service"), "default"),
    "Endpoints": (tree("v1", "Endpoints"), "default"),
    "IPAddress": (tree("networking.k8s.io/v1", "IPAddress"), None),
}


def start_replica(plane: ControlPlane, identity: str) -> subprocess.Popen[bytes]:
    """Start a controller manager with one controller."""
    command = [
        sys.executable, "-m", "steersman", "controller-manager", f"--kubeconfig={plane.kubeconfig}", "--port=0",
        "--secure-port=0", "--controllers=replicaset", "--feature-gates=CoordinatedLeaderElection=true",
        f"--leader-elect-identity={identity}",
    ]  # fmt: skip
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


async def seconds_until(
    client: Client, resource: Any, namespace: str | None, name: str, holds: Callable[[Any], bool]
) -> float:
    """Return the time until an event with an object for which ``holds`` is true."""
    started = time.perf_counter()
    selector = f"metadata.name={name}"
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        client.watch(resource, namespace=namespace, field_selector=selector) as events,
    ):
        async for event in events:
            if event.type in ("ADDED", "MODIFIED") and holds(event.object):
                return time.perf_counter() - started
    raise TimeoutError(name)


async def hand_overs(
    client: Client, plane: ControlPlane, times: int, dice: random.Random, number: signal.Signals
) -> list[float]:
    """Return the leaderless time of each round."""
    count, seconds = 0, []
    replicas: dict[str, subprocess.Popen[bytes]] = {}

    def leads(lease: Any) -> bool:
        """True if a live replica has renewed the Lease itself."""
        spec = lease["spec"]
        return spec.get("holderIdentity") in replicas and spec.get("acquireTime") is not None

    try:
        for _ in range(times):
            while len(replicas) < 3:
                count += 1
                identity = f"{number.name.lower()}-{count}"
                replicas[identity] = start_replica(plane, identity)
                await seconds_until(client, CANDIDATES, "kube-system", identity, lambda _: True)
            await seconds_until(client, LEASES, "kube-system", NAME, leads)
            await client.clock.sleep(dice.uniform(0, 6))
            lease = await client.get(LEASES, NAME, namespace="kube-system")
            leader = replicas.pop(lease["spec"]["holderIdentity"])
            leader.send_signal(number)
            seconds.append(await seconds_until(client, LEASES, "kube-system", NAME, leads))
            leader.wait(PATIENCE_SECONDS)
    finally:
        for process in replicas.values():
            process.terminate()
        for process in replicas.values():
            process.wait(PATIENCE_SECONDS)
    return seconds


async def repairs(client: Client, kind: str, times: int) -> list[float]:
    """Return the time until an object that was deleted is back, for each deletion."""
    resource, namespace = LOST[kind]
    seconds = []
    for _ in range(times):
        name = "kubernetes"
        if kind == "IPAddress":
            service = await client.get(LOST["Service"][0], "kubernetes", namespace="default")
            name = service["spec"]["clusterIP"]
        uid = (await client.get(resource, name, namespace=namespace))["metadata"]["uid"]
        await client.delete(resource, name, namespace=namespace)
        seconds.append(
            await seconds_until(client, resource, namespace, name, lambda obj, uid=uid: obj["metadata"]["uid"] != uid)  # type: ignore[misc]
        )
    return seconds


def report(label: str, seconds: list[float]) -> None:
    """Print one line."""
    print(
        f"{label}: median {statistics.median(seconds):.3f}, maximum {max(seconds):.3f} ({len(seconds)} times)",
        flush=True,
    )


async def measure(times: int, seed: int) -> None:
    """Run everything against one API server."""
    dice = random.Random(seed)
    with ControlPlane() as plane:
        async with connect(plane.kubeconfig) as client:
            report("leader stopped", await hand_overs(client, plane, times, dice, signal.SIGTERM))
            report("leader killed", await hand_overs(client, plane, max(times // 4, 1), dice, signal.SIGKILL))
            for kind in LOST:
                report(f"{kind} deleted", await repairs(client, kind, times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    asyncio.run(measure(args.times, args.seed))


if __name__ == "__main__":
    main()
