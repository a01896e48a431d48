"""``steersman backup``: copy the store of an API server that may be running."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from steersman.cli.data_directory import add_data_dir, store_path
from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.storage.sqlite.salvage import back_up
from steersman.storage.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """Back up the store; return the exit code."""
    parser = FlagParser("backup", PAGES["backup"])
    add_data_dir(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="File to write the copy to; must not exist")
    args = parser.parse_args(arguments)
    path = store_path(args)
    try:
        revision = back_up(path, args.file)
    except StoreError as error:
        sys.stderr.write(f"steersman: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"steersman: {error.filename or args.file}: {error.strerror or error}\n")
        return 1
    sys.stdout.write(f"{args.file}: a copy of {path} at revision {revision}\n")
    return 0
