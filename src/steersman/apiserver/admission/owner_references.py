"""``OwnerReferencesPermissionEnforcement``: permissions on the objects and owners of owner references.

Changing owner references requires ``delete`` on the object; setting ``blockOwnerDeletion`` requires ``update`` on the
owner's finalizers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.authz.pending import with_decisions
from steersman.apiserver.request import RequestInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.schema.resources import Resource


class OwnerReferencesPermissionEnforcement(Plugin):
    """Every resource except ``pods/status``, which kubelets write."""

    name: ClassVar[str] = "OwnerReferencesPermissionEnforcement"

    def __init__(self, authorizer: Authorizer, resources: Callable[[str, str], Iterable[Resource]]) -> None:
        """``resources`` returns the resources of an API version and kind."""
        self._authorizer: Final = authorizer
        self._resources: Final = resources

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates."""
        if (resource.group_resource, subresource) == ("pods", "status"):
            return False
        return operation in (Operation.CREATE, Operation.UPDATE)

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 without the permissions."""
        owners, before = _owners(attributes.object), _owners(attributes.old_object)
        if owners == before:
            return
        if attributes.operation is not Operation.CREATE:
            await self._check_delete(attributes)
        for owner in _newly_blocked(owners, before):
            await self._check_owner(attributes, owner)

    async def _check_delete(self, attributes: Attributes) -> None:
        resource = attributes.resource
        request = RequestInfo(
            verb="delete",
            path="",
            is_resource=True,
            group=resource.group,
            version=resource.version,
            namespace=attributes.namespace,
            resource=resource.name,
            name=attributes.name,
            subresource=attributes.subresource,
        )
        decision = await with_decisions(self._authorizer.authorize, attributes.user, request)
        if not decision.allowed:
            message = f"cannot set an ownerRef on a resource you can't delete: {decision.reason}, <nil>"
            raise attributes.forbidden(message)

    async def _check_owner(self, attributes: Attributes, owner: Tree) -> None:
        version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
        resources = list(self._resources(version, kind))
        if not resources:
            raise attributes.forbidden(
                f"cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {version}"
                f" Kind {kind}: no matches for kind {quote(kind)} in version {quote(version)}"
            )
        for resource in resources:
            request = RequestInfo(
                verb="update",
                path="",
                is_resource=True,
                group=resource.group,
                version=resource.version,
                namespace=attributes.namespace if resource.namespaced else "",
                resource=resource.name,
                name=owner.get("name") or "",
                subresource="finalizers",
            )
            decision = await with_decisions(self._authorizer.authorize, attributes.user, request)
            if not decision.allowed:
                raise attributes.forbidden(
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers"
                    f" on: {decision.reason}, <nil>"
                )


def _owners(obj: Tree | None) -> list[Tree]:
    return list(((obj or {}).get("metadata") or {}).get("ownerReferences") or ())


def _newly_blocked(owners: list[Tree], before: list[Tree]) -> list[Tree]:
    """Return the owners with a new ``blockOwnerDeletion``."""
    blocked = {owner.get("uid") for owner in before if owner.get("blockOwnerDeletion")}
    return [owner for owner in owners if owner.get("blockOwnerDeletion") and owner.get("uid") not in blocked]
