"""``OwnerReferencesPermissionEnforcement``: nobody has the garbage collector delete, or keep, what he may not.

Who changes owner references must be allowed to delete the object; who blocks the deletion of an owner, to change the
owner's finalizers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.request import RequestInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steersman.apiserver.authz.interface import Authorizer
    from steersman.schema.resources import Resource

    Tree = dict[str, Any]


class OwnerReferencesPermissionEnforcement(Plugin):
    """All kinds; not ``pods/status``, through which kubelets write."""

    name: ClassVar[str] = "OwnerReferencesPermissionEnforcement"

    def __init__(self, authorizer: Authorizer, resources: Callable[[str, str], Iterable[Resource]]) -> None:
        """``resources`` finds what keeps objects of an apiVersion and kind."""
        self._authorizer: Final = authorizer
        self._resources: Final = resources

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Creation and change of everything."""
        if (resource.group_resource, subresource) == ("pods", "status"):
            return False
        return operation in (Operation.CREATE, Operation.UPDATE)

    async def validate(self, attributes: Attributes) -> None:
        """Raises 403."""
        owners, before = _owners(attributes.object), _owners(attributes.old_object)
        if owners == before:
            return
        if attributes.operation is not Operation.CREATE:
            self._check_delete(attributes)
        for owner in _newly_blocked(owners, before):
            self._check_owner(attributes, owner)

    def _check_delete(self, attributes: Attributes) -> None:
        resource = attributes.resource
        asked = RequestInfo(
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
        decision = self._authorizer.authorize(attributes.user, asked)
        if not decision.allowed:
            why = f"cannot set an ownerRef on a resource you can't delete: {decision.reason}, <nil>"
            raise attributes.forbidden(why)

    def _check_owner(self, attributes: Attributes, owner: Tree) -> None:
        version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
        found = list(self._resources(version, kind))
        if not found:
            raise attributes.forbidden(
                f"cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {version}"
                f" Kind {kind}: no matches for kind {quote(kind)} in version {quote(version)}"
            )
        for resource in found:
            asked = RequestInfo(
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
            decision = self._authorizer.authorize(attributes.user, asked)
            if not decision.allowed:
                raise attributes.forbidden(
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers"
                    f" on: {decision.reason}, <nil>"
                )


def _owners(obj: Tree | None) -> list[Tree]:
    return list(((obj or {}).get("metadata") or {}).get("ownerReferences") or ())


def _newly_blocked(owners: list[Tree], before: list[Tree]) -> list[Tree]:
    """Owners whose deletion is blocked from now on."""
    blocked = {owner.get("uid") for owner in before if owner.get("blockOwnerDeletion")}
    return [owner for owner in owners if owner.get("blockOwnerDeletion") and owner.get("uid") not in blocked]
