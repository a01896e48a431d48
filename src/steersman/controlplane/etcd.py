"""The store on etcd, as the flags of an API server describe it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.controlplane.options import OptionError
from steersman.extras import MissingPackagesError, load_attribute

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.store import Store

#: Beginning of all keys, which ``--etcd-prefix`` replaces in etcd.
ROOT: Final = "/registry"


async def open_etcd_store(options: APIServerOptions, *, clock: Clock) -> Store:
    """Connect to the etcd of ``options``. Raises ``OptionError``, ``StoreError``."""
    try:
        store_type = load_attribute("steersman.storage.etcd.store", "EtcdStore", "--etcd-servers", "etcd")
        tls_type = load_attribute("steersman.storage.etcd.members", "MemberTLS", "--etcd-servers", "etcd")
    except MissingPackagesError as error:
        raise OptionError(str(error)) from error
    tls = tls_type(ca_file=options.etcd_cafile, cert_file=options.etcd_certfile, key_file=options.etcd_keyfile)
    try:
        store: Store = await store_type.open(
            options.etcd_servers,
            clock=clock,
            root=ROOT,
            prefix=options.etcd_prefix.rstrip("/"),
            tls=tls,
            compaction_interval_seconds=options.etcd_compaction_interval_seconds,
        )
    except (ValueError, OSError) as error:
        raise OptionError(f"--etcd-servers: {error}") from error
    return store
