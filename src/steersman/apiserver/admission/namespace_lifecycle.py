"""``NamespaceLifecycle``: rejects creates in missing or terminating namespaces, and deletes of system namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.errors import CAUSE_NAMESPACE_TERMINATING, not_found
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

#: Namespaces that cannot be deleted; ``kube-node-lease`` can, as upstream.
IMMORTAL_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public"})


class NamespaceLifecycle(Plugin):
    """Namespace checks against the cache of namespaces."""

    name: ClassVar[str] = "NamespaceLifecycle"

    def __init__(self, namespaces: WatchCache) -> None:
        #: True for a namespace whose phase is ``Terminating``.
        self._terminating: Final = Lookup(namespaces, _is_terminating)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for writes in namespaces, and deletes of namespaces."""
        if operation is Operation.DELETE:
            return _is_namespaces(resource)
        if resource.group == "authorization.k8s.io":  # a 404 would disclose which namespaces exist
            return False
        return resource.namespaced and operation is not Operation.CONNECT

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raise 404 for a missing namespace, 403 for a create in a terminating one or a delete of a system namespace."""
        if attributes.operation is Operation.DELETE:
            if attributes.name in IMMORTAL_NAMESPACES:
                raise attributes.forbidden("this namespace may not be deleted")
            return None
        terminating = self._terminating.get_cached(attributes.namespace)
        if terminating is None:
            return self._admit_after_lookup(attributes)
        _check(attributes, terminating=terminating)
        return None

    async def _admit_after_lookup(self, attributes: Attributes) -> None:
        terminating = await self._terminating.get(attributes.namespace)
        if terminating is None:
            raise not_found("namespaces", attributes.namespace)
        _check(attributes, terminating=terminating)


def _check(attributes: Attributes, *, terminating: bool) -> None:
    if terminating and attributes.operation is Operation.CREATE:
        raise _terminating_error(attributes, attributes.namespace)


def _is_terminating(namespace: dict[str, Any]) -> bool:
    phase: str = namespace.get("status", {}).get("phase", "")
    return phase == "Terminating"


def _is_namespaces(resource: Resource) -> bool:
    return resource.name == "namespaces" and not resource.group


def _terminating_error(attributes: Attributes, namespace: str) -> Exception:
    error = attributes.forbidden(
        f"unable to create new content in namespace {namespace} because it is being terminated"
    )
    cause: dict[str, Any] = {
        "reason": CAUSE_NAMESPACE_TERMINATING,
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    error.details.setdefault("causes", []).append(cause)
    return error
