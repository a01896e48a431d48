"""``NamespaceLifecycle``: nothing is made in a namespace that is missing or going away, and three are never deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.errors import CAUSE_NAMESPACE_TERMINATING, not_found
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

#: ``kube-node-lease`` may be deleted, as upstream.
IMMORTAL_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public"})


class NamespaceLifecycle(Plugin):
    """Looks namespaces up in their cache."""

    name: ClassVar[str] = "NamespaceLifecycle"

    def __init__(self, namespaces: WatchCache) -> None:
        #: Whether a namespace is terminating, as its phase says.
        self._terminating: Final = Lookup(namespaces, _is_terminating)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Writes in namespaces, and deletes of namespaces."""
        if operation is Operation.DELETE:
            return _is_namespaces(resource)
        if resource.group == "authorization.k8s.io":  # what a review says of a namespace would tell that it exists
            return False
        return resource.namespaced and operation is not Operation.CONNECT

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """404 when the namespace is missing, 403 when it is terminating (creates only) or must stay (deletes)."""
        if attributes.operation is Operation.DELETE:
            if attributes.name in IMMORTAL_NAMESPACES:
                raise attributes.forbidden("this namespace may not be deleted")
            return None
        terminating = self._terminating.at_once(attributes.namespace)
        if terminating is None:
            return self._ask(attributes)
        _check(attributes, terminating=terminating)
        return None

    async def _ask(self, attributes: Attributes) -> None:
        terminating = await self._terminating.get(attributes.namespace)
        if terminating is None:
            raise not_found("namespaces", attributes.namespace)
        _check(attributes, terminating=terminating)


def _check(attributes: Attributes, *, terminating: bool) -> None:
    if terminating and attributes.operation is Operation.CREATE:
        raise _refusal(attributes, attributes.namespace)


def _is_terminating(namespace: dict[str, Any]) -> bool:
    phase: str = namespace.get("status", {}).get("phase", "")
    return phase == "Terminating"


def _is_namespaces(resource: Resource) -> bool:
    return resource.name == "namespaces" and not resource.group


def _refusal(attributes: Attributes, namespace: str) -> Exception:
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
