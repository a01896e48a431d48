"""Repair of node ports: leaks cause no watch event, so it is a slow pass over all Services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.controlplane.bootstrap.findings import Fault
from steersman.controlplane.bootstrap.node_ports import plan_node_ports
from steersman.controlplane.bootstrap.service_writes import SERVICES
from steersman.storage.store import Conflict

if TYPE_CHECKING:
    from steersman.apiserver.kinds.core.service.node_port_registry import NodePortRegistry
    from steersman.client import Client
    from steersman.controlplane.bootstrap.node_ports import PortPlan
    from steersman.controlplane.bootstrap.repair_reporter import Reporter


#: Attempts of a pass: ports are allocated and released meanwhile.
_RACES_MAX: Final = 5


class NodePortRepairer:
    """Repair of node ports; remembers possibly leaked ports between passes."""

    def __init__(self, client: Client, registry: NodePortRegistry, *, reporter: Reporter) -> None:
        self._client = client
        self._registry = registry
        self._reporter = reporter
        self._suspects: dict[int, int] = {}

    async def whole_pass(self) -> None:
        """Compare and repair once. Raises ``ApiError``, ``ClientError``, ``StoreError``."""
        for _ in range(_RACES_MAX):
            plan = await self._try()
            if plan is not None:
                break
        else:
            return  # high contention; the next pass may succeed
        self._suspects = plan.suspects
        self._reporter.report(plan.findings)

    async def _try(self) -> PortPlan | None:
        """Run one pass; return None if the allocator's value changed meanwhile, as the observation may be outdated."""
        seen = await self._registry.read()
        services = await self._client.list_all(SERVICES)
        plan = plan_node_ports(services, seen.ports, ports=self._registry.ports, suspects=self._suspects)
        if plan.changes:
            try:
                await self._registry.change(seen, take=plan.take, release=plan.release)
            except Conflict:
                return None
        elif any(finding.fault is Fault.REPAIR for finding in plan.findings):
            return None if await self._registry.read() != seen else plan
        return plan
