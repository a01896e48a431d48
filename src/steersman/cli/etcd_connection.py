"""Flags for a connection to etcd, with kube-apiserver's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.cli import values
from steersman.controlplane.options import OptionError
from steersman.extras import MissingPackagesError, load_optional

if TYPE_CHECKING:
    import argparse

    from steersman.asynckit.clock import Clock
    from steersman.storage.store import Store

#: Start of all keys of a store, which ``--etcd-prefix`` replaces in etcd.
ROOT: Final = "/registry"


def add_etcd_flags(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add ``--etcd-servers`` and the flags about its connection."""
    parser.add_argument(
        "--etcd-servers", type=values.names, required=required, metavar="URLS", help="URLs of etcd members"
    )
    parser.add_argument("--etcd-cafile", type=values.path, metavar="FILE", help="Certificate authority of etcd")
    parser.add_argument("--etcd-certfile", type=values.path, metavar="FILE", help="Client certificate for etcd")
    parser.add_argument("--etcd-keyfile", type=values.path, metavar="FILE", help="Key of --etcd-certfile")
    parser.add_argument("--etcd-prefix", default=ROOT, metavar="PREFIX", help="Prefix of all keys (default /registry)")


async def open_etcd(given: argparse.Namespace, *, clock: Clock) -> Store:
    """Connect to the etcd that the flags name. Raises ``OptionError``, ``StoreError``."""
    try:
        store_type: Any = load_optional("steersman.storage.etcd.store", "EtcdStore", "--etcd-servers", "etcd")
        tls_type: Any = load_optional("steersman.storage.etcd.members", "MemberTLS", "--etcd-servers", "etcd")
    except MissingPackagesError as error:
        raise OptionError(str(error)) from error
    tls = tls_type(ca_file=given.etcd_cafile, cert_file=given.etcd_certfile, key_file=given.etcd_keyfile)
    try:
        store: Store = await store_type.open(
            given.etcd_servers,
            clock=clock,
            root=ROOT,
            prefix=given.etcd_prefix.rstrip("/"),
            tls=tls,
            compaction_interval_seconds=0,
        )
    except (ValueError, OSError) as error:
        raise OptionError(f"--etcd-servers: {error}") from error
    return store
