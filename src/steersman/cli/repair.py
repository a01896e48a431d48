"""``steersman repair``: list the lost writes of a damaged store, and continue without them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from steersman.asynckit.clock import RealClock
from steersman.cli.data_directory import add_data_dir, store_path
from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.storage.sqlite.lock import FileLock
from steersman.storage.sqlite.salvage import Salvage, inspect, repair, salvage
from steersman.storage.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

#: Exit code if data would be lost without consent.
_REFUSED: Final = 1


def run(arguments: Sequence[str]) -> int:
    """Repair the store; return the exit code: 0 if it is valid or was repaired."""
    parser = FlagParser("repair", PAGES["repair"])
    add_data_dir(parser)
    parser.add_argument(
        "--accept-data-loss",
        action="store_true",
        help="Continue with what can be read, at revisions that were never used; the damaged files are kept aside",
    )
    args = parser.parse_args(arguments)
    path = store_path(args)
    try:
        lock = FileLock.take(path)
        try:
            return _repair(path, accept=args.accept_data_loss)
        finally:
            lock.release()
    except StoreError as error:
        sys.stderr.write(f"steersman: {error}\n")
    except OSError as error:
        sys.stderr.write(f"steersman: {error.filename or path}: {error.strerror or error}\n")
    return _REFUSED


def _repair(path: Path, *, accept: bool) -> int:
    if path.exists() and inspect(path).is_sound:
        sys.stdout.write(f"{path} is sound; nothing to repair\n")
        return 0
    salvaged = salvage(path)
    sys.stdout.write("".join(f"{line}\n" for line in describe(path, salvaged)))
    if not accept:
        sys.stdout.write("nothing was changed; --accept-data-loss continues with what can be read\n")
        return _REFUSED
    suffix = RealClock().now().strftime(".damaged-%Y%m%dT%H%M%SZ")
    revision = repair(path, salvaged, suffix=suffix)
    sys.stdout.write(f"{path} continues at revision {revision}; the damaged files are {path}{suffix}*\n")
    return 0


def describe(path: Path, salvaged: Salvage) -> Iterator[str]:
    """Describe the damage and the loss, a line each."""
    yield f"{path}: {len(salvaged.rows)} keys can be read, at revision {salvaged.revision}"
    yield from (f"  {problem}" for problem in salvaged.problems)
    if salvaged.acknowledged_revision > salvaged.revision:
        yield f"  lost: all writes of revisions {salvaged.revision + 1} to {salvaged.acknowledged_revision}"
    elif not salvaged.acknowledged_revision:
        yield f"  lost: any writes after revision {salvaged.revision}; it is not known whether there were any"
    yield from (f"  lost: {key}" for key in salvaged.lost_keys)
    yield "  lost: the history; watchers must list again"
