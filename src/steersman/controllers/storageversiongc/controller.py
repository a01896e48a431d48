"""Controller of StorageVersions: watches them and the identity Leases of API servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, assert_never

from lightkube.models.coordination_v1 import Lease

from steersman.apimachinery.timestamps import format_time
from steersman.client import custom
from steersman.client.changes import Deleted
from steersman.client.errors import NotFound
from steersman.client.objects import name_of
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.storageversiongc.plan import IDENTITY, Delete, Keep, Write, decide, servers

if TYPE_CHECKING:
    from steersman.client import ResourceType
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

#: It is served only if enabled explicitly.
STORAGE_VERSIONS: Final[ResourceType[dict[str, Any]]] = custom(
    "internal.apiserver.k8s.io/v1alpha1", "StorageVersion", plural="storageversions", namespaced=False
)
#: Namespace of the identity Leases.
_NAMESPACE: Final = "kube-system"


class StorageVersionGCController(ManagedController):
    """Reconciles StorageVersions by name."""

    name: ClassVar[str] = "storageversion-garbage-collector-controller"
    queue_name: ClassVar[str] = "storage_version_garbage_collector_leases"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        label = f"{IDENTITY[0]}={IDENTITY[1]}"
        self._leases = self.informer(Lease, namespace=_NAMESPACE, label_selector=label)
        self._leases.add_callback(self._lease_changed)
        self._versions = self.watch(STORAGE_VERSIONS, when=lambda change: not isinstance(change, Deleted))

    def _lease_changed(self, change: Change[Lease]) -> None:
        if isinstance(change, Deleted):
            for obj in self._versions.lister:
                self.enqueue(obj)

    async def reconcile(self, key: str) -> None:
        """Remove the entries of deleted servers."""
        obj = self._versions.lister.get(key)
        if obj is None:
            return
        decision = decide(obj, await self._existing_servers(obj), now=format_time(self.clock.now()))
        match decision:
            case Keep():
                pass
            case Delete():
                await self.delete_seen(obj, unchanged=True)
            case Write(new):
                await self._write(key, new)
            case _:
                assert_never(decision)

    async def _existing_servers(self, obj: dict[str, Any]) -> set[str]:
        """Return the API servers with a Lease; a cache miss is verified with the server."""
        living = {name_of(lease) for lease in self._leases.lister}
        for name in sorted(servers(obj) - living):
            try:
                await self.client.get(Lease, name, namespace=_NAMESPACE)
            except NotFound:
                pass
            else:
                living.add(name)
        return living

    async def _write(self, key: str, new: dict[str, Any]) -> None:
        try:
            written = await self.client.update_status(new)
        except NotFound:
            return
        self.own_writes.note(key, self._versions, written)


def build(context: ControllerContext) -> StorageVersionGCController:
    """Construct the controller."""
    return StorageVersionGCController(context)
