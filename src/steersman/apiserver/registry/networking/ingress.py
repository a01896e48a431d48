"""Ingresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class IngressStrategy(Strategy):
    """No defaults of its own: a class comes from admission."""

    group_resource = "ingresses.networking.k8s.io"
    has_generation = True
    columns = (
        columns.NAME_COLUMN,
        Column("Class"),
        Column("Hosts"),
        Column("Address"),
        Column("Ports"),
        columns.AGE_COLUMN,
    )

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        return [
            columns.name_of(obj),
            spec.get("ingressClassName") or columns.NONE,
            _hosts(spec),
            _addresses(obj),
            "80, 443" if spec.get("tls") else "80",
            columns.age(obj, now),
        ]


def _hosts(spec: Tree) -> str:
    """The first three hosts of its rules; ``*`` when no rule names one."""
    hosts: list[str] = []
    rules = [rule for rule in spec.get("rules") or () if rule.get("host")]
    hosts = [rule["host"] for rule in rules[:3]]
    if not hosts:
        return "*"
    text = ",".join(hosts)
    return f"{text} + {len(rules) - 3} more..." if len(rules) > 3 else text


def _addresses(obj: Tree) -> str:
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    found = [point.get("ip") or point.get("hostname") or "" for point in balancer.get("ingress") or ()]
    return ",".join(address for address in found if address)
