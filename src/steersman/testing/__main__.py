"""Cluster for a test in any language: ``python -m steersman.testing [FLAGS]``.

Prints one line of JSON with URL, kubeconfig, CA file and token when the cluster is ready; the cluster ends when standard
input closes, or with SIGTERM or SIGINT. Exit code 1: the cluster did not start; standard error has the reason.
"""

from __future__ import annotations

import argparse
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from steersman.testing.errors import ClusterError
from steersman.testing.host.options import ClusterOptionError
from steersman.testing.kit.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run until the end of standard input; return the exit code."""
    options = _parse(arguments)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _exit)
    try:
        with Cluster(**options) as cluster:
            facts = {
                "url": cluster.url,
                "kubeconfig": str(cluster.kubeconfig),
                "ca": str(cluster.ca),
                "token": cluster.token,
                "pid": cluster.pid,
            }
            sys.stdout.write(f"{msgspec.json.encode(facts).decode()}\n")
            sys.stdout.flush()
            while sys.stdin.buffer.read(4096):
                pass
    except (ClusterError, ClusterOptionError) as error:
        sys.stderr.write(f"steersman.testing: {error}\n")
        return 1
    return 0


def _parse(arguments: Sequence[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(
        "python -m steersman.testing",
        description="Start a cluster for tests, print how to reach it as JSON, and stop it when standard input closes.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("--nodes", type=int, help="number of simulated nodes (default 1)")
    parser.add_argument("--controllers", type=lambda text: [name for name in text.split(",") if name],
                        help="names as for steersman controller-manager, comma-separated; empty for none")  # fmt: skip
    parser.add_argument("--no-scheduler", dest="scheduler", action="store_false", help="run no scheduler")
    parser.add_argument("--clock", choices=("real", "virtual"), help='time of the cluster (default "real")')
    parser.add_argument("--store", choices=("memory", "sqlite"), help='store of the objects (default "memory")')
    parser.add_argument("--seed", type=int, help="number that decides names, UIDs and jitter")
    parser.add_argument("--feature-gates", type=_gates, help="name=true|false pairs, comma-separated")
    return vars(parser.parse_args(arguments))


def _gates(text: str) -> dict[str, bool]:
    gates = {}
    for pair in filter(None, text.split(",")):
        name, _, value = pair.partition("=")
        if value not in ("true", "false"):
            raise argparse.ArgumentTypeError(f"{pair!r} is not name=true or name=false")
        gates[name] = value == "true"
    return gates


def _exit(_number: int, _frame: object) -> NoReturn:
    """Leave ``main`` normally."""
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
