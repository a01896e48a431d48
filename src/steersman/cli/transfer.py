"""``steersman export-to-etcd`` and ``import-from-etcd``: move all objects between a data directory and etcd."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final

from steersman.apiserver.generic.storage_codec import JSON, UnreadableValueError
from steersman.asynckit.clock import RealClock
from steersman.cli.data_directory import add_data_dir, store_path
from steersman.cli.etcd_connection import add_etcd_flags, open_etcd
from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.controlplane.etcd import ROOT
from steersman.controlplane.options import OptionError
from steersman.controlplane.storage_check import StorageChecker, reencode
from steersman.schema.protobuf import MEDIA_TYPE
from steersman.storage.sqlite.store import SqliteStore
from steersman.storage.store import StoreError
from steersman.storage.transfer import TransferError, objects_of, transfer

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from steersman.storage.store import Store
    from steersman.storage.transfer import Transform

EXPORT: Final = "export-to-etcd"
IMPORT: Final = "import-from-etcd"
#: Prefix of values that are bound to their key in etcd.
_ENCRYPTED: Final = b"k8s:enc:"
#: Maximum number of reported problems of a refused export.
_SHOWN_MAX: Final = 100
_PROGRESS_KEYS: Final = 10_000


def run(command: str, arguments: Sequence[str]) -> int:
    """Run one of both commands; return the exit code."""
    parser = FlagParser(command, PAGES[command])
    add_data_dir(parser)
    add_etcd_flags(parser, required=True)
    default = JSON if command == IMPORT else None
    parser.add_argument(
        "--storage-media-type",
        choices=(JSON, MEDIA_TYPE),
        default=default,
        help=f"Encoding of built-in kinds in the result (default {default or 'unchanged'})",
    )
    args = parser.parse_args(arguments)
    try:
        return asyncio.run(_transfer(command, args))
    except (OptionError, StoreError, TransferError, UnreadableValueError) as error:
        sys.stderr.write(f"steersman: {error}\n")
        return 1


async def _transfer(command: str, args: argparse.Namespace) -> int:
    path, clock = store_path(args), RealClock()
    _check_path(command, path)
    etcd = await open_etcd(args, clock=clock)
    try:
        local = await SqliteStore.open(path, clock=clock)
        try:
            source, destination = (local, etcd) if command == EXPORT else (etcd, local)
            if not await _is_readable(source, keeps_root=args.etcd_prefix.rstrip("/") == ROOT):
                return 1
            result = await transfer(source, destination, transform=_transform(args), progress=_show_progress)
        finally:
            await local.close()
    finally:
        await etcd.close()
    resumed = f", {result.resumed} of them by an earlier run" if result.resumed else ""
    sys.stdout.write(f"copied {result.keys} objects{resumed}; both have the digest {result.digest}\n")
    return 0


def _check_path(command: str, path: Path) -> None:
    """Raise ``TransferError`` for an export without a store; create the directory of an import."""
    if command == EXPORT and not path.exists():
        raise TransferError(f"{path}: no such file")
    if command == IMPORT:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)


async def _is_readable(source: Store, *, keeps_root: bool) -> bool:
    """Report whether an API server would read all objects; write those that it would not to stderr."""
    checker = StorageChecker()
    problems = []
    async for kv in objects_of(source):
        problem = checker.problem(kv.key, kv.value)
        if not problem and not keeps_root and kv.value.startswith(_ENCRYPTED):
            problem = f"is encrypted for a key under {ROOT}, and cannot be decrypted under another --etcd-prefix"
        if problem:
            problems.append(f"{kv.key}: {problem}")
    problems += [f"{key}: {problem}" for key, problem in checker.remaining_problems()]
    for problem in problems[:_SHOWN_MAX]:
        sys.stderr.write(f"  {problem}\n")
    if problems:
        sys.stderr.write(f"steersman: {len(problems)} objects would not be read; nothing was copied\n")
    return not problems


def _transform(args: argparse.Namespace) -> Transform:
    return (lambda _, value: value) if args.storage_media_type is None else reencode(args.storage_media_type)


def _show_progress(keys: int) -> None:
    if keys % _PROGRESS_KEYS == 0:
        sys.stderr.write(f"copied {keys} objects\n")
