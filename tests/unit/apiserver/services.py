"""Services over an in-memory store, written as the generic store does: prepare, validate, allocate, commit."""

from __future__ import annotations

import json
import random
from ipaddress import ip_network
from typing import Any

from tests.unit.apiserver.kinds.objects import context, copy, error_texts

from steersman.apimachinery.trees import Tree
from steersman.apiserver.kinds.core.service.allocation import (
    ADDRESS_PREFIX,
    NODE_PORTS_KEY,
    SERVICE_CIDR_PREFIX,
    ServiceAllocator,
)
from steersman.apiserver.kinds.core.service.strategy import ServiceStrategy
from steersman.apiserver.kinds.shared.allocation import PortBitmap, PortRange
from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Put

FOUR = "10.96.0.0/28"
SIX = "fd00:96::/124"
PORTS = PortRange(30000, 30031)


class Refused(Exception):  # noqa: N818 — reads as what happened
    """Validation errors."""


class Cluster:
    """Service strategy and allocator over a store; writes are committed at once."""

    def __init__(self, *networks: str, ports: PortRange = PORTS) -> None:
        self.store = MemoryStore(clock=FakeClock())
        self.ports = ports
        self.allocator = ServiceAllocator(
            self.store,
            networks=[ip_network(network) for network in networks or (FOUR,)],
            ports=ports,
            dice=random.Random(1),
        )
        self.kind = ServiceStrategy(self.allocator)

    async def create(self, name: str = "a", *, dry_run: bool = False, **spec: Any) -> Tree:
        """Create a Service. Raises Refused, or the allocator's error."""
        ctx = context(dry_run=dry_run)
        obj = {"metadata": {"name": name, "namespace": "n"}, "spec": {"ports": [{"port": 80}], **copy(spec)}}
        self.kind.default(obj, "v1")
        self.kind.prepare_for_create(ctx, obj)
        self._check(self.kind.validate(ctx, obj))
        ops = await self.kind.extra_ops_on_create(ctx, obj)
        await self._commit(ops, dry_run=dry_run)
        return obj

    async def update(self, old: Tree, *, dry_run: bool = False, **spec: Any) -> Tree:
        """Update fields of a Service's spec; None removes a field."""
        ctx = context(dry_run=dry_run)
        whole = {key: value for key, value in {**copy(old["spec"]), **copy(spec)}.items() if value is not None}
        obj = {"metadata": dict(old["metadata"]), "spec": whole, "status": {"loadBalancer": {}}}
        self.kind.default(obj, "v1")
        self.kind.prepare_for_update(ctx, obj, old)
        self._check(self.kind.validate_update(ctx, obj, old))
        ops = await self.kind.extra_ops_on_update(ctx, obj, old)
        await self._commit(ops, dry_run=dry_run)
        return obj

    async def delete(self, obj: Tree) -> None:
        await self._commit(await self.kind.extra_ops_on_delete(context(), obj), dry_run=False)

    async def add_range(self, name: str, *cidrs: str, **parts: Any) -> None:
        """Create a ServiceCIDR."""
        tree = {"metadata": {"name": name}, "spec": {"cidrs": cidrs}, **parts}
        await self.store.txn([Put(f"{SERVICE_CIDR_PREFIX}{name}", json.dumps(tree).encode())])

    async def addresses(self) -> set[str]:
        """Return the allocated addresses."""
        response = await self.store.range(ADDRESS_PREFIX)
        return {kv.key.removeprefix(ADDRESS_PREFIX) for kv in response.kvs}

    async def node_ports(self) -> set[int]:
        """Return the allocated node ports."""
        kv = await self.store.get(NODE_PORTS_KEY)
        bitmap = PortBitmap.decode(self.ports, kv.value if kv else None)
        return {port for port in range(self.ports.first, self.ports.last + 1) if port in bitmap}

    async def _commit(self, ops: Any, *, dry_run: bool) -> None:
        if ops and not dry_run:
            await self.store.txn(list(ops))

    @staticmethod
    def _check(errors: Any) -> None:
        if errors:
            raise Refused(error_texts(errors))
