"""``steersman check-storage``: report stored objects that kube-apiserver would not read."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from steersman.asynckit.clock import RealClock
from steersman.cli import values
from steersman.cli.data_directory import add_data_dir, store_path
from steersman.cli.etcd_connection import add_etcd_flags, open_etcd
from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.controlplane.options import OptionError
from steersman.controlplane.storage_check import StorageChecker
from steersman.storage.sqlite.lock import FileLock
from steersman.storage.sqlite.salvage import inspect
from steersman.storage.store import StoreError, Unavailable
from steersman.storage.transfer import objects_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from steersman.controlplane.encryption import EncryptionAtRest


def run(arguments: Sequence[str]) -> int:
    """Check all objects; return the exit code: 0 if kube-apiserver can read them, otherwise 1."""
    parser = FlagParser("check-storage", PAGES["check-storage"])
    add_data_dir(parser)
    parser.add_argument(
        "--encryption-provider-config",
        type=values.path,
        metavar="FILE",
        help="Providers of encryption at rest; without it, encrypted values are counted and not checked",
    )
    add_etcd_flags(parser, required=False)
    args = parser.parse_args(arguments)
    try:
        if args.etcd_servers:
            return asyncio.run(_check_etcd(args))
        path = store_path(args)
        lock = FileLock.take(path)
        try:
            return _check(path, args.encryption_provider_config)
        finally:
            lock.release()
    except (StoreError, OptionError) as error:
        sys.stderr.write(f"steersman: {error}\n")
        return 1


def _check(path: Path, configuration: Path | None) -> int:
    checker = StorageChecker()
    with asyncio.Runner() as runner:
        decrypt = None if configuration is None else _Decryption(runner, configuration)
        try:
            report = inspect(
                path,
                decode=lambda key, value: checker.problem(key, value if decrypt is None else decrypt(key, value)),
            )
        finally:
            if decrypt is not None:
                decrypt.close()
    problems = [
        *report.problems,
        *(f"{key}: the stored data does not match its checksum" for key in report.corrupt_keys),
    ]
    sys.stdout.write(f"{path}: revision {report.revision}, {report.keys} keys\n")
    return _report(checker, problems, is_decrypted=configuration is not None)


async def _check_etcd(args: argparse.Namespace) -> int:
    """Check the objects in an etcd, which API servers may use."""
    clock, configuration = RealClock(), args.encryption_provider_config
    checker, keys, problems = StorageChecker(), 0, []
    encryption = None
    if configuration is not None:
        from steersman.controlplane.encryption import EncryptionAtRest  # noqa: PLC0415 — loads cryptography

        encryption = await EncryptionAtRest.open(configuration, reloads=False, clock=clock)
    store = await open_etcd(args, clock=clock)
    if encryption is not None:
        store = encryption.wrap(store, root=args.etcd_prefix.rstrip("/"))
    try:
        async for kv in objects_of(store):
            keys += 1
            if problem := checker.problem(kv.key, kv.value):
                problems.append(f"{kv.key}: {problem}")
    finally:
        await store.close()
        if encryption is not None:
            await encryption.close()
    sys.stdout.write(f"{','.join(args.etcd_servers)}: {keys} keys\n")
    return _report(checker, problems, is_decrypted=encryption is not None)


def _report(checker: StorageChecker, problems: list[str], *, is_decrypted: bool) -> int:
    """Write the findings; return the exit code."""
    problems += [f"{key}: {problem}" for key, problem in checker.remaining_problems()]
    for problem in problems:
        sys.stdout.write(f"  {problem}\n")
    if checker.encrypted:
        hint = "" if is_decrypted else "; --encryption-provider-config decrypts them"
        sys.stdout.write(f"  {checker.encrypted} encrypted values were not checked{hint}\n")
    if problems or (checker.encrypted and is_decrypted):
        return 1
    sys.stdout.write("kube-apiserver reads everything that was checked\n")
    return 0


class _Decryption:
    """Decryption of values outside of a store, with the plugins of the configuration."""

    def __init__(self, runner: asyncio.Runner, configuration: Path) -> None:
        """Raise ``OptionError``."""
        from steersman.controlplane.encryption import EncryptionAtRest  # noqa: PLC0415 — loads cryptography

        self._runner = runner
        self._encryption: EncryptionAtRest = runner.run(
            EncryptionAtRest.open(configuration, reloads=False, clock=RealClock())
        )

    def __call__(self, key: str, value: bytes) -> bytes:
        """Return the plain value, or an encrypted one that no provider decrypts."""
        try:
            return self._runner.run(self._encryption.decrypt(key, value))
        except Unavailable:
            return value

    def close(self) -> None:
        """Close the connections to plugins."""
        self._runner.run(self._encryption.close())
