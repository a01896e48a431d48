"""Store on etcd by the flags of an API server."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from steersman.controlplane.options import OptionError
from steersman.schema.resources import table
from steersman.storage.partitions import PartitionedStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.asynckit.clock import Clock
    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.store import Store

#: Prefix of all keys, replaced by ``--etcd-prefix`` in etcd.
ROOT: Final = "/registry"


#: Resources that share transactions with others: a Service is written with its addresses and node ports.
_TOGETHER: Final = (("", "services"), ("networking.k8s.io", "ipaddresses"))
_OVERRIDES: Final = "--etcd-servers-overrides"


def servers_by_prefix(overrides: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the servers of each key prefix. Raises ``OptionError``. Upstream: ``EtcdOptions.Validate``."""
    prefixes = {
        (resource.group, resource.name): f"{resource.key_prefix}/"
        for resource in table().resources
        if resource.key_prefix
    }
    by_prefix: dict[str, tuple[str, ...]] = {}
    for override in overrides:
        name, hash_sign, servers = override.partition("#")
        group, slash, resource = name.partition("/")
        if not hash_sign or not slash or "#" in servers or "/" in resource:
            raise OptionError(
                f"{_OVERRIDES} invalid, must be of format: group/resource#servers, where servers are URLs, semicolon"
                " separated"
            )
        prefix = prefixes.get((group, resource))
        if prefix is None:
            raise OptionError(f"{_OVERRIDES}: {name} is no built-in resource with objects")
        if (group, resource) in _TOGETHER:
            raise OptionError(f"{_OVERRIDES}: {name} cannot be kept apart: its transactions write other resources, too")
        by_prefix[prefix] = tuple(servers.split(";"))
    return by_prefix


async def open_etcd_store(options: APIServerOptions, *, clock: Clock) -> Store:
    """Connect to the clusters of ``options``. Raises ``OptionError``, ``StoreError``."""
    if find_spec("hpack") is None:
        raise OptionError("--etcd-servers needs hpack, which is not installed: pip install 'steersman[etcd]'")
    overrides = servers_by_prefix(options.etcd_servers_overrides)
    opened: dict[tuple[str, ...], Store] = {}
    try:
        for servers in (options.etcd_servers, *overrides.values()):
            if servers not in opened:
                opened[servers] = await _open_cluster(servers, options, clock=clock)
    except BaseException:
        for store in opened.values():
            await store.close()
        raise
    default = opened[options.etcd_servers]
    if not overrides:
        return default
    return PartitionedStore(default, {prefix: opened[servers] for prefix, servers in overrides.items()})


async def _open_cluster(servers: tuple[str, ...], options: APIServerOptions, *, clock: Clock) -> Store:
    from steersman.storage.etcd.members import MemberTLS  # noqa: PLC0415 — only this store needs hpack
    from steersman.storage.etcd.store import EtcdStore  # noqa: PLC0415 — as above

    tls = MemberTLS(ca_file=options.etcd_cafile, cert_file=options.etcd_certfile, key_file=options.etcd_keyfile)
    try:
        return await EtcdStore.open(
            servers,
            clock=clock,
            root=ROOT,
            prefix=options.etcd_prefix.rstrip("/"),
            tls=tls,
            compaction_interval_seconds=options.etcd_compaction_interval_seconds,
        )
    except (ValueError, OSError) as error:
        flag = "--etcd-servers" if servers == options.etcd_servers else _OVERRIDES
        raise OptionError(f"{flag}: {error}") from error
