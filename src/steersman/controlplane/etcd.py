"""The store on etcd, as the flags of an API server describe it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.store import Store

#: Beginning of all keys, which ``--etcd-prefix`` replaces in etcd.
ROOT: Final = "/registry"


async def open_etcd_store(options: APIServerOptions, *, clock: Clock) -> Store:
    """Connect to the etcd of ``options``. Raises ``OptionError``, ``StoreError``."""
    if find_spec("hpack") is None:
        raise OptionError("--etcd-servers needs hpack, which is not installed: pip install 'steersman[etcd]'")
    from steersman.storage.etcd.members import MemberTLS  # noqa: PLC0415 — only this store needs hpack
    from steersman.storage.etcd.store import EtcdStore  # noqa: PLC0415 — as above

    tls = MemberTLS(ca_file=options.etcd_cafile, cert_file=options.etcd_certfile, key_file=options.etcd_keyfile)
    try:
        return await EtcdStore.open(
            options.etcd_servers,
            clock=clock,
            root=ROOT,
            prefix=options.etcd_prefix.rstrip("/"),
            tls=tls,
            compaction_interval_seconds=options.etcd_compaction_interval_seconds,
        )
    except (ValueError, OSError) as error:
        raise OptionError(f"--etcd-servers: {error}") from error
