"""``NamespaceExists`` and ``NamespaceAutoProvision``: reject writes in missing namespaces, or create the namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.errors import StatusError, is_already_exists, not_found
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup

if TYPE_CHECKING:
    from steersman.apiserver.generic.registry import StoredResource
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource


class NamespaceExists(Plugin):
    """Reject writes in missing namespaces, deletes included."""

    name: ClassVar[str] = "NamespaceExists"

    def __init__(self, namespaces: WatchCache) -> None:
        self._names: Final = Lookup(namespaces, _name)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for writes in namespaces."""
        return resource.namespaced and operation is not Operation.CONNECT

    async def validate(self, attributes: Attributes) -> None:
        """Raise 404 if the namespace does not exist."""
        if await self._names.get(attributes.namespace) is None:
            raise not_found("namespaces", attributes.namespace)


class NamespaceAutoProvision(Plugin):
    """Create missing namespaces."""

    name: ClassVar[str] = "NamespaceAutoProvision"

    def __init__(self, namespaces: StoredResource) -> None:
        self._namespaces: Final = namespaces
        self._names: Final = Lookup(namespaces.cache, _name)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates in namespaces."""
        return resource.namespaced and operation is Operation.CREATE

    async def admit(self, attributes: Attributes) -> None:
        """Create the namespace if it is missing, except for dry-run. Raises the error of its creation."""
        name = attributes.namespace
        if attributes.dry_run or await self._names.get(name) is not None:
            return
        ctx = attributes.ctx.changed(namespace="", group_resource="namespaces")
        tree: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {}}
        self._namespaces.strategy.default(tree, "v1")
        try:
            await self._namespaces.objects.create(ctx, tree)
        except StatusError as error:
            if not is_already_exists(error):
                raise


def _name(namespace: dict[str, Any]) -> str:
    name: str = namespace["metadata"]["name"]
    return name
