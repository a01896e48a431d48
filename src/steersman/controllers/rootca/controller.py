"""Root CA publisher: watches namespaces and the published config maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.core_v1 import ConfigMap, Namespace
from prometheus_client import Counter, Histogram

from steersman.apimachinery.errors import StatusError
from steersman.client.changes import Added, Deleted
from steersman.client.objects import name_of, namespace_of
from steersman.controllers.rootca.plan import NAME, accepts_config_map, corrected, new_config_map
from steersman.controllers.rootca.source import root_ca
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from steersman.controllers.context import ControllerContext

#: Seconds, as upstream's ``ExponentialBuckets(0.001, 2, 15)``.
_BUCKETS: Final = tuple(0.001 * 2**exponent for exponent in range(15))


class RootCAPublisher(ManagedController):
    """Reconciles namespaces by name."""

    name: ClassVar[str] = "root-ca-certificate-publisher-controller"
    queue_name: ClassVar[str] = "root_ca_cert_publisher"

    def __init__(self, context: ControllerContext, *, root_ca: str) -> None:
        """``root_ca``: certificates in PEM."""
        super().__init__(context)
        self._root_ca = root_ca
        self._namespaces = self.watch(Namespace, when=lambda change: not isinstance(change, Deleted))
        self._config_maps = self.watch(
            ConfigMap,
            keys=lambda config_map: (namespace_of(config_map),),
            when=lambda change: not isinstance(change, Added) and name_of(change.latest) == NAME,
        )

        registry = context.metrics.registry
        self._syncs = Counter(
            "root_ca_cert_publisher_sync_total", "Namespaces synced by status code", ("code",), registry=registry
        )
        self._sync_seconds = Histogram(
            "root_ca_cert_publisher_sync_duration_seconds", "Duration of syncs by status code", ("code",),
            registry=registry, buckets=_BUCKETS,
        )  # fmt: skip

    async def reconcile(self, key: str) -> None:
        """Create or correct the ConfigMap of a Namespace."""
        started, code = self.clock.monotonic(), 500
        try:
            await self._sync(key)
            code = 200
        except StatusError as error:
            code = error.code
            raise
        finally:
            self._syncs.labels(str(code)).inc()
            self._sync_seconds.labels(str(code)).observe(self.clock.monotonic() - started)

    async def _sync(self, key: str) -> None:
        if not accepts_config_map(self._namespaces.lister.get(key)):
            return
        present = self._config_maps.lister.get(NAME, namespace=key)
        if present is None:
            await self.create_unless_exists(key, self._config_maps, new_config_map(key, self._root_ca))
            return
        new = corrected(present, self._root_ca)
        if new is not None:
            self.own_writes.note(key, self._config_maps, await self.client.update(new))


def build(context: ControllerContext) -> RootCAPublisher:
    """Construct the controller. ``ca.crt`` is empty without ``--root-ca-file`` and a CA of the client."""
    return RootCAPublisher(context, root_ca=root_ca(context))
