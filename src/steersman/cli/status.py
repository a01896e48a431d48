"""``steersman status``: the running control planes of this user and their objects."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import parse_time
from steersman.asynckit.clock import RealClock
from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.client import tree
from steersman.client.connecting import connect
from steersman.client.errors import ClientError
from steersman.controlplane.ready_message import is_ready
from steersman.controlplane.running_planes import running_directory, running_planes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.client import Client
    from steersman.controlplane.running_planes import RunningPlane


_NODES: Final = tree("v1", "Node")
_PODS: Final = tree("v1", "Pod")
_LEASES: Final = tree("coordination.k8s.io/v1", "Lease")
#: Label of API server identity Leases, which are no elections.
IDENTITY_LABEL: Final = "apiserver.kubernetes.io/identity"
_REPORT_TIMEOUT_SECONDS: Final = 20.0


def run(arguments: Sequence[str]) -> int:
    """Show the control planes; return the exit code: 1 if none runs, or one does not respond."""
    FlagParser("status", PAGES["status"]).parse_args(arguments)
    planes = running_planes(running_directory())
    if not planes:
        sys.stdout.write("no control plane of yours runs here; steersman up starts one\n")
        return 1
    now = RealClock().now()
    code = 0
    for plane in planes:
        lines = about(plane, now=now)
        try:
            lines += asyncio.run(_request_report(plane))
        except (ClientError, OSError, TimeoutError) as error:
            lines.append(f"  does not answer: {error or 'too slow'}")
            code = 1
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return code


def about(plane: RunningPlane, *, now: datetime) -> list[str]:
    """Return the lines about a control plane that are available without requests."""
    kind = "a whole control plane" if plane.is_whole else "an API server"
    name = f"{plane.name}: " if plane.name else ""
    return [
        f"{name}{plane.url}: {kind}, for {age((now - parse_time(plane.started)).total_seconds())}, process {plane.pid}",
        f"  data        {plane.data_dir or 'in memory'}",
        f"  kubeconfig  {plane.kubeconfig}",
    ]


def age(seconds: float) -> str:
    """Return an age in its two largest units."""
    remaining = int(max(0.0, seconds))
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, remaining = divmod(remaining, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return "".join(parts[:2])


async def _request_report(plane: RunningPlane) -> list[str]:
    async with connect(plane.kubeconfig) as client, asyncio.timeout(_REPORT_TIMEOUT_SECONDS):
        return await report(client)


async def report(client: Client) -> list[str]:
    """Return the lines about a control plane that require requests. Raises ClientError."""
    nodes = await client.list_all(_NODES)
    pods = await client.list_all(_PODS)
    leases = await client.list_all(_LEASES, namespace="kube-system")
    phases = Counter(str((pod.get("status") or {}).get("phase") or "Pending") for pod in pods)
    phase_counts = ", ".join(f"{count} {phase}" for phase, count in sorted(phases.items()))
    return [
        f"  nodes       {len(nodes)}, {sum(map(is_ready, nodes))} Ready",
        f"  pods        {len(pods)}{', ' if phase_counts else ''}{phase_counts}",
        *(f"  leads       {line}" for line in leaders(leases)),
    ]


def leaders(leases: Iterable[Tree]) -> list[str]:
    """Return the holders of the Leases."""
    rows = []
    for lease in leases:
        holder = (lease.get("spec") or {}).get("holderIdentity")
        if holder and IDENTITY_LABEL not in (lease["metadata"].get("labels") or {}):
            rows.append(f"{lease['metadata']['name']}: {holder}")
    return sorted(rows)
