"""``steersman elections``: leaders, candidates, the next step of each coordinated election, and plain Leases."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING

from steersman.cli.plain_leases import plain_leases, show_plain_leases
from steersman.cli.selection import SelectionError, default_kubeconfig, plane_name, running_plane
from steersman.client.connecting import connect
from steersman.client.errors import ClientError
from steersman.controlplane.elections.kinds import CANDIDATES, LEASES
from steersman.controlplane.elections.view import show_elections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.client import Client

_DESCRIPTION = (
    "Show the elections of a cluster: leaders, candidates and the next step of coordinated ones, with the reason; and"
    " Leases that are held without coordination."
)


def run(arguments: Sequence[str]) -> int:
    """Returns the exit code: 1 when the cluster cannot be asked."""
    parser = argparse.ArgumentParser("steersman elections", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--kubeconfig", help="kubeconfig of the cluster; default: $KUBECONFIG, the only control"
                        " plane that runs here, or as kubectl finds it")  # fmt: skip
    parser.add_argument("--name", type=plane_name, help="name of a control plane that runs here")
    parser.add_argument("--context", default="", help="context of the kubeconfig; default: the current one")
    parser.add_argument("--namespace", "-n", help="only the elections of this namespace; default: all")
    given = parser.parse_args(arguments)
    if given.name is not None and (given.kubeconfig is not None or given.context):
        parser.error("--name excludes --kubeconfig and --context")
    try:
        if given.name is not None:
            given.kubeconfig = running_plane(given.name).kubeconfig
        elif given.kubeconfig is None and not given.context:
            given.kubeconfig = default_kubeconfig()
        sys.stdout.write(asyncio.run(_ask(given)))
    except (ClientError, SelectionError, OSError, ValueError) as error:
        sys.stderr.write(f"steersman: {error}\n")
        return 1
    return 0


async def _ask(given: argparse.Namespace) -> str:
    async with connect(given.kubeconfig, context=given.context) as client:
        return await report(client, namespace=given.namespace)


async def report(client: Client, *, namespace: str | None) -> str:
    """The text. Raises ``ClientError``."""
    candidates = await client.list_all(CANDIDATES, namespace=namespace)
    leases = await client.list_all(LEASES, namespace=namespace)
    now = client.clock.now()
    contested = {(each["metadata"]["namespace"], each["spec"]["leaseName"]) for each in candidates}
    parts = [show_elections(leases, candidates, now=now)] if candidates else []
    plain = show_plain_leases(plain_leases(leases, contested), now=now)
    if plain:
        parts.append(f"without coordination:\n{plain}")
    return "\n".join(parts) or "no elections\n"
