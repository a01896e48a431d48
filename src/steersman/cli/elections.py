"""``steersman elections``: leaders, candidates, the next step of each coordinated election, and plain Leases."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from steersman.cli import values
from steersman.cli.component_checks import check_kubeconfig
from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.cli.plain_leases import plain_leases, show_plain_leases
from steersman.cli.selection import SelectionError, default_kubeconfig, plane_name, running_plane
from steersman.client.connecting import connect
from steersman.client.errors import ClientError
from steersman.controlplane.elections.kinds import CANDIDATES, LEASES
from steersman.controlplane.elections.view import show_elections
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steersman.client import Client


def run(arguments: Sequence[str]) -> int:
    """Return the exit code: 1 if the cluster cannot be reached."""
    parser = FlagParser("elections", PAGES["elections"])
    parser.add_argument(
        "--kubeconfig",
        type=values.path,
        metavar="FILE",
        help="Kubeconfig of the cluster (default $KUBECONFIG, the only control plane that runs here, or as kubectl's)",
    )
    parser.add_argument("--name", type=plane_name, help="Name of a control plane that runs here")
    parser.add_argument("--context", default="", help="Context of the kubeconfig (default the current one)")
    parser.add_argument("--namespace", "-n", help="Show only elections of this namespace (default all)")
    args = parser.parse_args(arguments)
    if args.name is not None and (args.kubeconfig is not None or args.context):
        parser.error("--name excludes --kubeconfig and --context")
    try:
        check_kubeconfig(args.kubeconfig)
    except OptionError as error:
        parser.error(str(error))
    try:
        if args.name is not None:
            args.kubeconfig = running_plane(args.name).kubeconfig
        elif args.kubeconfig is None and not args.context:
            args.kubeconfig = default_kubeconfig()
        sys.stdout.write(asyncio.run(_request_report(args)))
    except (ClientError, SelectionError, OSError, ValueError) as error:
        sys.stderr.write(f"steersman: {error}\n")
        return 1
    return 0


async def _request_report(args: argparse.Namespace) -> str:
    async with connect(args.kubeconfig, context=args.context) as client:
        return await report(client, namespace=args.namespace)


async def report(client: Client, *, namespace: str | None) -> str:
    """Return the text of the command. Raises ``ClientError``."""
    candidates = await client.list_all(CANDIDATES, namespace=namespace)
    leases = await client.list_all(LEASES, namespace=namespace)
    now = client.clock.now()
    contested = {(candidate["metadata"]["namespace"], candidate["spec"]["leaseName"]) for candidate in candidates}
    parts = [show_elections(leases, candidates, now=now)] if candidates else []
    plain = show_plain_leases(plain_leases(leases, contested), now=now)
    if plain:
        parts.append(f"without coordination:\n{plain}")
    return "\n".join(parts) or "no elections\n"
