"""Flags for a connection to etcd, with kube-apiserver's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.cli import values
from steersman.controlplane.etcd import ROOT, open_etcd_store
from steersman.controlplane.options import APIServerOptions

if TYPE_CHECKING:
    import argparse

    from steersman.asynckit.clock import Clock
    from steersman.storage.store import Store


def add_etcd_flags(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add ``--etcd-servers`` and the flags about its connection."""
    parser.add_argument(
        "--etcd-servers", type=values.names, required=required, metavar="URLS", help="URLs of etcd members"
    )
    parser.add_argument("--etcd-cafile", type=values.path, metavar="FILE", help="Certificate authority of etcd")
    parser.add_argument("--etcd-certfile", type=values.path, metavar="FILE", help="Client certificate for etcd")
    parser.add_argument("--etcd-keyfile", type=values.path, metavar="FILE", help="Key of --etcd-certfile")
    parser.add_argument("--etcd-prefix", default=ROOT, metavar="PREFIX", help="Prefix of all keys (default /registry)")


async def open_etcd(args: argparse.Namespace, *, clock: Clock) -> Store:
    """Connect to the etcd of the flags, without compaction. Raises ``OptionError``, ``StoreError``."""
    options = APIServerOptions(
        etcd_servers=tuple(args.etcd_servers),
        etcd_prefix=args.etcd_prefix,
        etcd_cafile=args.etcd_cafile,
        etcd_certfile=args.etcd_certfile,
        etcd_keyfile=args.etcd_keyfile,
        etcd_compaction_interval_seconds=0.0,
    )
    return await open_etcd_store(options, clock=clock)
