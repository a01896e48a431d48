"""``--encryption-provider-config``: encryption at rest of one API server, its KMS plugins, and reloads of the file.

Upstream: staging/src/k8s.io/apiserver/pkg/server/options/{etcd.go,encryptionconfig/controller/controller.go}
"""

from __future__ import annotations

import asyncio
import logging
import socket
from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import errno_text
from steersman.apiserver.health.checks import Unhealthy
from steersman.asynckit.tasks import Supervisor
from steersman.controlplane.bootstrap.identity import server_id
from steersman.controlplane.config_reload import ConfigReload
from steersman.controlplane.encryption_metrics import families_of
from steersman.controlplane.options import OptionError
from steersman.extras import MissingPackagesError
from steersman.schema.resources import table
from steersman.storage.encryption.build import load_encryption
from steersman.storage.encryption.configuration import ConfigurationError
from steersman.storage.encryption.kms import KMSUnavailableError
from steersman.storage.encryption.kms_client import GrpcKMSService
from steersman.storage.encryption.metrics import EncryptionMetrics
from steersman.storage.encryption.resources import KeyResources
from steersman.storage.encryption.store import EncryptedStore
from steersman.storage.memory import MemoryStore
from steersman.storage.partitions import PartitionedStore
from steersman.storage.store import KeyValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from steersman.apiserver.observability.metrics import Family
    from steersman.asynckit.clock import Clock
    from steersman.storage.encryption.build import Encryption, OpenKMS
    from steersman.storage.encryption.configuration import Provider
    from steersman.storage.store import Store

_FLAG: Final = "--encryption-provider-config"
_METRIC_PREFIX: Final = "apiserver_encryption_config_controller"
#: Seconds for which an old configuration's plugins stay connected after a reload, for requests in flight.
_CLOSE_GRACE_SECONDS: Final = 10.0

_log = logging.getLogger(__name__)


class EncryptionAtRest:
    """Encryption of the values of one store, or of its parts. Start it with ``open``; ``close`` ends its tasks and connections."""

    def __init__(self, path: Path, *, reloads: bool, clock: Clock, open_kms: OpenKMS | None) -> None:
        self._path = path
        self._reloads = reloads
        self._clock = clock
        self.metrics: Final = EncryptionMetrics(clock)
        self._open_kms = open_kms or partial(connect_plugin, clock, self.metrics)
        self._tasks = Supervisor("encryption at rest")
        self._probes = Supervisor("KMS plugins")
        self._stores: list[EncryptedStore] = []
        self._current: Encryption
        #: Called when stored values become stale.
        self.on_key_change: Callable[[], None] = lambda: None
        #: Reload of the file, which runs if reloads are enabled.
        self.reload: ConfigReload

    @classmethod
    async def open(
        cls, path: Path, *, reloads: bool, clock: Clock, open_kms: OpenKMS | None = None
    ) -> EncryptionAtRest:
        """Read the file and connect its plugins; a plugin that does not respond yet is no error. Raises ``OptionError``."""
        encryption = cls(path, reloads=reloads, clock=clock, open_kms=open_kms)
        try:
            data = await asyncio.to_thread(path.read_bytes)
            encryption._current = encryption._load(data)
        except OSError as error:
            raise OptionError(f"{_FLAG}: cannot read {path}: {errno_text(error)}") from error
        except (ConfigurationError, MissingPackagesError) as error:
            raise OptionError(f"{_FLAG}: {error}") from error
        for plugin in encryption._current.plugins:
            try:
                await plugin.probe()
            except KMSUnavailableError as error:
                _log.error("kms plugin %s failed health check probe: %s", plugin.name, error)
        encryption._follow_plugins()
        encryption.reload = ConfigReload(path, data, encryption._apply, metric_prefix=_METRIC_PREFIX, clock=clock)
        if reloads:
            encryption._tasks.start("encryption-provider-config-automatic-reload-controller", encryption.reload.run())
        return encryption

    def wrap(self, store: Store, *, root: str = "/registry") -> EncryptedStore:
        """Return the store with encryption; ``root`` is the prefix of its keys in etcd."""
        encrypted = EncryptedStore(
            store,
            self._current.transformers,
            resource_of=KeyResources(_key_prefixes()),
            tasks=Supervisor("encrypted store"),
            metrics=self.metrics,
            root=root,
        )
        self._stores.append(encrypted)
        return encrypted

    def wrap_all(self, store: Store, *, root: str) -> Store:
        """Return the store with encryption of each of its parts."""
        if isinstance(store, PartitionedStore):
            return store.map(partial(self.wrap, root=root))
        return self.wrap(store, root=root)

    async def decrypt(self, key: str, value: bytes) -> bytes:
        """Decrypt a value outside of a store. Raises ``Unavailable``."""
        store = self._stores[0] if self._stores else self.wrap(MemoryStore(clock=self._clock))
        return (await store.readable(KeyValue(key, value, 1, 1))).value

    def _load(self, data: bytes) -> Encryption:
        return load_encryption(
            data,
            str(self._path),
            clock=self._clock,
            open_kms=self._open_kms,
            on_key_change=self._key_changed,
            reloads=self._reloads,
            metrics=self.metrics,
        )

    def _key_changed(self) -> None:
        self.on_key_change()

    def _follow_plugins(self) -> None:
        for plugin in self._current.plugins:
            self._probes.start(f"KMS plugin {plugin.name}", plugin.run())

    # -- reloads -------------------------------------------------------------------------------------------------------

    async def _apply(self, data: bytes) -> None:
        """Use the file's new contents if all plugins are healthy. Raises ``OSError``."""
        try:
            fresh = self._load(data)
        except (ConfigurationError, MissingPackagesError) as error:
            raise OSError(str(error)) from error
        try:
            for plugin in fresh.plugins:
                await plugin.probe()
        except KMSUnavailableError as error:
            await fresh.close()
            raise OSError(str(error)) from error
        old, self._current = self._current, fresh
        probes, self._probes = self._probes, Supervisor("KMS plugins")
        for store in self._stores:
            store.use(fresh.transformers)
        await probes.close()
        self._follow_plugins()
        self.on_key_change()
        self._tasks.start("close former KMS plugins", self._close_later(old))

    async def _close_later(self, old: Encryption) -> None:
        await self._clock.sleep(_CLOSE_GRACE_SECONDS)
        await old.close()

    # -- health and metrics --------------------------------------------------------------------------------------------

    @property
    def has_check(self) -> bool:
        """True if the health endpoints have a check: always with reloads, otherwise if a plugin is configured."""
        return self._reloads or bool(self._current.plugins)

    async def check(self) -> None:
        """Check all plugins. Raises ``Unhealthy``."""
        problems = []
        for position, plugin in enumerate(self._current.plugins):
            try:
                await plugin.check()
            except KMSUnavailableError as error:
                problems.append(f"kms-provider-{position}: {error}")
        if problems:
            raise Unhealthy(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    async def collect(self) -> Iterable[Family]:
        """Return the metrics of encryption, and of reloads."""
        identity = server_id(socket.gethostname())
        families = families_of(self.metrics, server_id=identity)
        return [*families, *self.reload.metrics.families()] if self._reloads else families

    async def close(self) -> None:
        """End tasks and connections. Idempotent."""
        await self._tasks.close()
        await self._probes.close()
        await self._current.close()


def connect_plugin(clock: Clock, metrics: EncryptionMetrics, provider: Provider) -> GrpcKMSService:
    """Return the client of a plugin. Raises ``MissingPackagesError``."""
    return GrpcKMSService(
        provider.endpoint,
        clock=clock,
        timeout_seconds=provider.timeout_seconds,
        name=provider.name,
        metrics=metrics,
    )


def _key_prefixes() -> dict[str, tuple[str, str]]:
    return {
        resource.key_prefix: (resource.name, resource.group)
        for resource in reversed(table().resources)  # Events are those of the core group
        if resource.key_prefix
    }
