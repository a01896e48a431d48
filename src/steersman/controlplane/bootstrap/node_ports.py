"""Consistency of allocated node ports and Services. Rules and messages of upstream's ``portallocator/controller``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.controlplane.bootstrap.findings import Fault, Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.allocation import PortRange


#: Consecutive passes that must see a leaked port before its release, as its Service may not be stored yet.
PASSES_BEFORE_RELEASE: Final = 3

_ACTION: Final = "PortAllocation"


class PortPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Findings and writes of one pass."""

    #: Ports to mark as taken.
    take: frozenset[int] = frozenset()
    #: Ports to release.
    release: frozenset[int] = frozenset()
    findings: tuple[Finding, ...] = ()
    #: Possibly leaked ports, with the number of passes until release.
    suspects: dict[int, int] = {}

    @property
    def changes(self) -> bool:
        """Report whether any write is needed."""
        return bool(self.take or self.release)


def plan_node_ports(
    services: Iterable[Tree], allocated: frozenset[int], *, ports: PortRange, suspects: Mapping[int, int]
) -> PortPlan:
    """Compare Services with the allocator.

    ``allocated`` are the allocated ports, ``suspects`` the possible leaks of the last pass's plan.
    """
    findings: list[Finding] = []
    seen: set[int] = set()
    for service in services:
        for port in _ports_of(service):
            if port not in ports:
                note = f"Port {port} is not within the port range {ports}; please recreate service"
                findings.append(_finding(service, Fault.OUT_OF_RANGE, "PortOutOfRange", note))
            elif port in seen:
                note = f"Port {port} was assigned to multiple services; please recreate service"
                findings.append(_finding(service, Fault.DUPLICATE, "PortAlreadyAllocated", note))
            elif port not in allocated:
                note = f"Port {port} is not allocated; repairing"
                findings.append(_finding(service, Fault.REPAIR, "PortNotAllocated", note))
            seen.add(port)
    remaining = {port: suspects.get(port, PASSES_BEFORE_RELEASE) - 1 for port in allocated - seen}
    return PortPlan(
        take=frozenset(port for port in seen - allocated if port in ports),
        release=frozenset(port for port, passes in remaining.items() if passes < 0),
        findings=tuple(findings),
        suspects={port: passes for port, passes in remaining.items() if passes >= 0},
    )


def _ports_of(service: Tree) -> Iterator[int]:
    """Return the node ports of a Service without duplicates; a port used twice by one protocol is kept twice."""
    spec = service.get("spec") or {}
    seen: dict[int, set[str]] = {}
    for port in spec.get("ports") or ():
        number, protocol = port.get("nodePort") or 0, port.get("protocol") or "TCP"
        if number and (number not in seen or protocol in seen[number]):
            yield number
        if number:
            seen.setdefault(number, set()).add(protocol)
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]


def _finding(service: Tree, fault: Fault, reason: str, note: str) -> Finding:
    return Finding(fault=fault, about=service, reason=reason, action=_ACTION, note=note)
