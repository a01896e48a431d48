"""Worker pool: each worker renews a Lease as its heartbeat and processes its share of the pool's shards.

Start any number of workers, on any machines, against any cluster: ``python worker_pool.py orders a``, ``… orders b``. A worker
whose Lease is not renewed within its duration is dead for the others, which take over its shards. Two workers may process
a shard for a moment; work that must never run twice needs leader election (``leader_worker.py``).
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterable
from hashlib import sha256

from steersman.client import Client, connect, tree
from steersman.client.errors import NotFound, RequestTimedOut
from steersman.runtime import Controller, ControllerContext, LeaseHeartbeat, Manager, Result
from steersman.runtime.health import Unhealthy

LEASES = tree("coordination.k8s.io/v1", "Lease")
POOL_LABEL = "example.com/pool"
SHARDS = 12
LEASE_DURATION_SECONDS = 4
RENEW_INTERVAL_SECONDS = 1


def shards_of(worker: str, workers: Iterable[str]) -> list[int]:
    """Return the shards of a worker: each shard has the worker with the highest hash, so that others keep theirs."""
    return [
        shard
        for shard in range(SHARDS)
        if worker == max(workers, key=lambda name: sha256(f"{name}/{shard}".encode()).digest())
    ]


class Worker(Controller):
    """Worker of a pool."""

    name = "worker"

    def __init__(self, context: ControllerContext, pool: str, worker: str) -> None:
        super().__init__(context)
        self.pool, self.worker = pool, worker
        namespace = context.client.default_namespace
        self.heartbeat = LeaseHeartbeat(
            context.client,
            holder_identity=worker,
            lease_name=f"{pool}-{worker}",
            lease_duration_seconds=LEASE_DURATION_SECONDS,
            renew_interval_seconds=RENEW_INTERVAL_SECONDS,
            request_deadline_seconds=LEASE_DURATION_SECONDS / 2,
            namespace=namespace,
            process_lease=self.label_lease,
            on_repeated_failure=self.reconnect,
            metrics=context.metrics.heartbeats,
        )
        self.leases = self.watch(LEASES, keys=lambda _: [pool], namespace=namespace, label_selector={POOL_LABEL: pool})
        self._last_changes: dict[str, tuple[str, float]] = {}
        self._shards: list[int] | None = None

    def label_lease(self, lease: dict) -> None:
        """Label the Lease with its pool; in a Pod make the Pod its owner (set both variables by the downward API)."""
        metadata = lease["metadata"]
        metadata["labels"] = {POOL_LABEL: self.pool}
        if uid := os.environ.get("POD_UID"):
            owner = {"apiVersion": "v1", "kind": "Pod", "name": os.environ["POD_NAME"], "uid": uid}
            metadata["ownerReferences"] = [owner]

    async def reconnect(self) -> None:
        """Close connections that may be dead, as the kubelet does; the next request has a new one."""
        print(f"{self.worker}: cannot renew the lease", flush=True)
        await self.client.close()

    def is_expired(self, lease: dict) -> bool:
        """Report whether the Lease has not changed for its duration, by the local clock: clocks of machines may differ."""
        name, renewed = lease["metadata"]["name"], lease["spec"]["renewTime"]
        last, since = self._last_changes.get(name, ("", 0.0))
        if renewed != last:
            since = self.clock.monotonic()
            self._last_changes[name] = (renewed, since)
        return self.clock.monotonic() - since >= lease["spec"]["leaseDurationSeconds"]

    async def reconcile(self, key: str) -> Result:
        """Compute the shards of this worker, after each change of a Lease of the pool and every second."""
        workers = {lease["spec"]["holderIdentity"] for lease in self.leases.lister if not self.is_expired(lease)}
        # A worker that cannot renew its Lease stops: the others have taken over.
        is_alive = self.heartbeat.age_seconds < LEASE_DURATION_SECONDS
        shards = shards_of(self.worker, {*workers, self.worker}) if is_alive else []
        if shards != self._shards:
            print(f"{self.worker}: shards {' '.join(map(str, shards)) or 'none'}", flush=True)
            self._shards = shards
        return Result(requeue_after_seconds=1)

    async def start(self) -> None:
        """Reconcile also if the pool has no Lease yet."""
        self.queue.add(self.pool)

    def check(self) -> None:
        """Fail the liveness probe while the Lease is expired."""
        if self.heartbeat.age_seconds >= LEASE_DURATION_SECONDS:
            raise Unhealthy(f"the lease was not renewed for {self.heartbeat.age_seconds:.0f} s")


async def run(client: Client, pool: str, name: str) -> None:
    manager = Manager(client, health_port=0)
    worker = manager.add(Worker(manager.context, pool, name))
    with contextlib.suppress(RequestTimedOut):  # the heartbeat asks a slow server again
        await worker.heartbeat.renew_once()  # reports a missing permission now, instead of in the log
    manager.add_background("heartbeat", worker.heartbeat.run)
    manager.livez.add("lease", worker.check)
    manager.stop_on_signals()
    await manager.run()
    with contextlib.suppress(NotFound):  # without its Lease, the other workers take over at once
        await client.delete(LEASES, worker.heartbeat.lease_name, namespace=worker.heartbeat.namespace)


async def main(pool: str, name: str) -> None:
    async with connect() as client:
        await run(client, pool, name)


if __name__ == "__main__":
    asyncio.run(main(*(sys.argv[1:] or ["pool", "a"])))
