"""Loss of one of three API servers behind the load balancer of ``docs/etcd.md``: for how long do writes fail?

``python -m scripts.etcd_server_loss --rounds 5``: three API servers on three members, with the certificates of the first, behind HAProxy with the
configuration of the guide. Clients create ConfigMaps, each without a pause, and repeat a request that fails. In each round
one server is killed, and the longest time of a client without an answered write is printed; then it starts again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shutil
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from scripts.etcd_cluster import EtcdCluster
from scripts.etcd_server_faults import HEAL_SECONDS, SERVERS, ServerProcess
from scripts.ports import free_port

from steersman.asynckit.clock import RealClock
from steersman.client.connecting import connect
from steersman.client.errors import AlreadyExists, ClientError
from steersman.client.sending import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from steersman.client import Client

PAGE = Path(__file__).parents[1] / "docs" / "etcd.md"
WRITERS = 6
#: Pause of a writer after a failed request.
PAUSE_SECONDS = 0.02
#: Target: maximum seconds without writes after the loss of a server.
LOSS_SECONDS_MAX = 2.0
CLOCK = RealClock()


def haproxy() -> str | None:
    """Return the path of HAProxy; None if this machine has none."""
    return shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")


def configuration(page: str, port: int, server_ports: list[int]) -> str:
    """Return the guide's configuration for servers on loopback. Raises ``ValueError`` if the page has another number of servers."""
    block = next(part for part in page.split("```") if "frontend kubernetes" in part)
    lines = [line.removeprefix("    ") for line in block.splitlines()]
    replaced = 0
    for position, line in enumerate(lines):
        words = line.split()
        if words[:1] == ["bind"]:
            lines[position] = f"    bind 127.0.0.1:{port}"
        elif words[:1] == ["server"]:
            words[2] = f"127.0.0.1:{server_ports[replaced]}"
            lines[position] = f"    {' '.join(words)}"
            replaced += 1
    if replaced != len(server_ports):
        raise ValueError(f"the guide names {replaced} servers")
    return "\n".join(lines) + "\n"


class BalancedServers:
    """Three API servers behind HAProxy."""

    def __init__(self, servers: list[ServerProcess], url: str) -> None:
        self.servers = servers
        self._url = url

    def connect(self) -> Client:
        """Return a client of the load balancer that reports every failure."""
        client = connect(self.servers[0].folder / "admin.kubeconfig", server=self._url)
        return client.with_options(retry=RetryPolicy(0, retry_failed_connections=False))


@contextlib.asynccontextmanager
async def balanced_servers(cluster: EtcdCluster) -> AsyncIterator[BalancedServers]:
    """Start servers and HAProxy as the guide says."""
    servers = [ServerProcess(number, cluster) for number in range(SERVERS)]
    balancer: asyncio.subprocess.Process | None = None
    try:
        for server in servers:
            await server.open()
        servers[0].launch()
        await servers[0].await_ready()
        for server in servers[1:]:
            shutil.copytree(servers[0].folder / "pki", server.folder / "pki")
            server.launch()
        for server in servers[1:]:
            await server.await_ready()
        port = free_port()
        file = cluster.folder / "haproxy.cfg"
        file.write_text(configuration(PAGE.read_text(), port, [server.port for server in servers]))
        balancer = await asyncio.create_subprocess_exec(haproxy() or "haproxy", "-db", "-q", "-f", str(file))
        balanced = BalancedServers(servers, f"https://127.0.0.1:{port}")
        async with balanced.connect() as client:
            await write(client, "first")
        yield balanced
    finally:
        if balancer is not None:
            balancer.terminate()
            await balancer.wait()
        for server in servers:
            await server.close()


async def write(client: Client, name: str) -> None:
    """Create a ConfigMap, and repeat a request that failed."""
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    async with asyncio.timeout(HEAL_SECONDS):
        while True:
            try:
                await client.create(body, namespace="default")
            except AlreadyExists:
                return
            except ClientError:
                await CLOCK.sleep(PAUSE_SECONDS)
            else:
                return


async def measure_loss(balanced: BalancedServers, server: ServerProcess, prefix: str) -> tuple[int, float]:
    """Kill a server under load; return the number of writes and the longest time of a client without an answered one."""
    is_over = False

    async def work(number: int) -> tuple[int, float]:
        count, longest, answered = 0, 0.0, CLOCK.monotonic()
        async with balanced.connect() as client:
            while not is_over:
                await write(client, f"{prefix}-{number}-{count}")
                before, answered = answered, CLOCK.monotonic()
                count, longest = count + 1, max(longest, answered - before)
        return count, longest

    work_tasks = [asyncio.create_task(work(number)) for number in range(WRITERS)]
    await CLOCK.sleep(1.0)
    server.kill()
    await CLOCK.sleep(4.0)
    is_over = True
    results = await asyncio.gather(*work_tasks)
    return sum(count for count, _ in results), max(longest for _, longest in results)


async def measure(rounds: int, seed: int) -> bool:
    dice, is_met = Random(seed), True
    with EtcdCluster(3) as cluster:
        async with balanced_servers(cluster) as balanced:
            for number in range(rounds):
                server = dice.choice(balanced.servers)
                writes, seconds = await measure_loss(balanced, server, f"round-{number}")
                is_met = is_met and seconds <= LOSS_SECONDS_MAX
                print(f"{server.name} killed: {writes} writes, the longest pause {seconds:.2f} s", flush=True)
                server.launch()
                await server.await_ready()
    return is_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if haproxy() is None:
        print("HAProxy is not installed: apt-get install haproxy", file=sys.stderr)
        return 2
    return 0 if asyncio.run(measure(arguments.rounds, arguments.seed)) else 1


if __name__ == "__main__":
    sys.exit(main())
