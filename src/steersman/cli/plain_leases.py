"""Table of Leases that are held without coordinated election, as by client-go's ``leaderelection``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import parse_time
from steersman.cli.status import IDENTITY_LABEL, age
from steersman.controlplane.elections.objects import read_lease

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from steersman.apimachinery.trees import Tree


_COLUMNS: Final = ("LEASE", "HOLDER", "HELD FOR", "RENEWED", "STATE", "TRANSITIONS")
#: Namespace of node heartbeats.
_NODE_NAMESPACE: Final = "kube-node-lease"


def plain_leases(leases: Iterable[Tree], contested: Collection[tuple[str, str]]) -> list[Tree]:
    """Return the Leases of elections without candidates.

    ``contested`` are namespace and name of Leases with candidates. Heartbeats of nodes and identities of API
    servers are not elections.
    """
    return [
        lease
        for lease in leases
        if lease["metadata"].get("namespace") != _NODE_NAMESPACE
        and IDENTITY_LABEL not in (lease["metadata"].get("labels") or {})
        and (lease["metadata"].get("namespace"), lease["metadata"]["name"]) not in contested
    ]


def show_plain_leases(leases: Iterable[Tree], *, now: datetime) -> str:
    """Return a table of the Leases, sorted by namespace and name; empty without Leases."""
    rows = sorted(_row(lease, now) for lease in leases)
    if not rows:
        return ""
    table = [_COLUMNS, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in table
    )


def _row(lease: Tree, now: datetime) -> tuple[str, ...]:
    spec, lease_state = lease.get("spec") or {}, read_lease(lease)
    state = "held" if lease_state.expires > now else "expired"
    acquired = spec.get("acquireTime")
    return (
        f"{lease['metadata']['namespace']}/{lease['metadata']['name']}",
        lease_state.holder or "-",
        _since(parse_time(acquired), now) if lease_state.holder and acquired else "-",
        f"{_since(lease_state.renewed, now)} ago" if lease_state.renewed else "never",
        state if lease_state.holder else "released",
        str(spec.get("leaseTransitions") or 0),
    )


def _since(moment: datetime, now: datetime) -> str:
    return age((now - moment).total_seconds())
