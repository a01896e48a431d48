"""``steersman elections``: who leads, who would like to, and what comes next."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING

from steersman.client.connecting import connect
from steersman.client.errors import ClientError
from steersman.controlplane.elections.kinds import CANDIDATES, LEASES
from steersman.controlplane.elections.view import show_elections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.client import Client

_DESCRIPTION = (
    "Show the coordinated elections of a cluster: leaders, candidates, and what the next step would be, and why."
)


def run(arguments: Sequence[str]) -> int:
    """Returns the exit code: 1 when the cluster cannot be asked."""
    parser = argparse.ArgumentParser("steersman elections", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--kubeconfig", help="how to reach the cluster; default: as kubectl finds it")
    parser.add_argument("--context", default="", help="context of the kubeconfig; default: the current one")
    parser.add_argument("--namespace", "-n", help="only the elections of this namespace; default: all")
    given = parser.parse_args(arguments)
    try:
        sys.stdout.write(asyncio.run(_ask(given)))
    except (ClientError, OSError, ValueError) as error:
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
    return show_elections(leases, candidates, now=client.clock.now())
