"""``NamespaceLifecycle``: nothing is made in a namespace that is missing or going away, and three are never deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from steersman.apimachinery.errors import CAUSE_NAMESPACE_TERMINATING, not_found
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin

if TYPE_CHECKING:
    from steersman.apiserver.registry.entry import Entry
    from steersman.apiserver.registry.watch_cache import WatchCache
    from steersman.schema.resources import Resource

#: ``kube-node-lease`` may be deleted, as upstream.
IMMORTAL_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public"})
_SEEN_MAX: Final = 4096


class _Status(msgspec.Struct, gc=False):
    phase: str = ""


class _Phased(msgspec.Struct, gc=False):
    status: _Status = msgspec.field(default_factory=_Status)


_decode_phase: Final = msgspec.json.Decoder(_Phased).decode


class NamespaceLifecycle(Plugin):
    """Looks namespaces up in their cache; what it learns of one is kept as long as the namespace does not change."""

    name: ClassVar[str] = "NamespaceLifecycle"

    def __init__(self, namespaces: WatchCache) -> None:
        self._namespaces: Final = namespaces
        #: Key of a namespace → the entry last looked at and whether it was terminating. Emptied when full.
        self._seen: Final[dict[str, tuple[Entry, bool]]] = {}

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Writes in namespaces, and deletes of namespaces."""
        if operation is Operation.DELETE:
            return _is_namespaces(resource)
        if resource.group == "authorization.k8s.io":  # what a review says of a namespace would tell that it exists
            return False
        return resource.namespaced and operation is not Operation.CONNECT

    async def admit(self, attributes: Attributes) -> None:
        """404 when the namespace is missing, 403 when it is terminating (creates only) or must stay (deletes)."""
        if attributes.operation is Operation.DELETE:
            if attributes.name in IMMORTAL_NAMESPACES:
                raise attributes.forbidden("this namespace may not be deleted")
            return
        cache = self._namespaces
        if not cache.is_ready:
            await cache.ready()
        namespace = attributes.namespace
        key = cache.prefix + namespace
        entry = cache.get(key)
        if entry is None and cache.remote:
            await cache.wait_fresh()
            entry = cache.get(key)
        if entry is None:
            self._seen.pop(key, None)
            raise not_found("namespaces", namespace)
        if attributes.operation is Operation.CREATE and self._is_terminating(key, entry):
            raise _terminating(attributes, namespace)

    def _is_terminating(self, key: str, entry: Entry) -> bool:
        seen = self._seen.get(key)
        if seen is not None and seen[0] is entry:
            return seen[1]
        terminating = _decode_phase(entry.raw).status.phase == "Terminating"
        if len(self._seen) >= _SEEN_MAX:
            self._seen.clear()
        self._seen[key] = (entry, terminating)
        return terminating


def _is_namespaces(resource: Resource) -> bool:
    return resource.name == "namespaces" and not resource.group


def _terminating(attributes: Attributes, namespace: str) -> Exception:
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
