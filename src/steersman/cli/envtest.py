"""``steersman envtest``: write the assets for controller-runtime's envtest, and print their folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from steersman.cli import values
from steersman.cli.flag_parser import FlagParser
from steersman.cli.flags import parser as server_parser
from steersman.cli.help_pages import PAGES
from steersman.controlplane.options import default_data_dir
from steersman.testing.envtest.assets import EnvtestOptions, assets_directory, write_assets

if TYPE_CHECKING:
    from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """Print the folder for ``KUBEBUILDER_ASSETS``; return the exit code."""
    parser = FlagParser("envtest", PAGES["envtest"])
    parser.add_argument("--with-controllers", type=values.boolean, nargs="?", const=True, default=False, metavar="BOOL",
                        help="Also run controllers, a scheduler and a simulated node")  # fmt: skip
    parser.add_argument("--storage", choices=("memory", "sqlite"), default="memory",
                        help="Storage of the objects: memory, or sqlite in the data directory of etcd, which an API server that"
                        ' is started again finds there (default "memory")')  # fmt: skip
    args = parser.parse_args(arguments)
    options = EnvtestOptions(with_controllers=args.with_controllers, storage=args.storage)
    directory = assets_directory(default_data_dir() / "envtest", options)
    try:
        write_assets(directory, options, apiserver_help=server_parser("apiserver").format_help())
    except OSError as error:
        sys.stderr.write(f"steersman: cannot write the assets in {directory}: {error.strerror or error}\n")
        return 1
    sys.stdout.write(f"{directory}\n")
    return 0
