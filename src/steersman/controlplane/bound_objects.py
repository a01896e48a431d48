"""What tokens are bound to, and Secrets that hold tokens, as the watch caches have them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.authn.service_account import Found

if TYPE_CHECKING:
    from steersman.apiserver.generic.registry import Registry

_PLURALS: Final = {"ServiceAccount": "serviceaccounts", "Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class StoredObjects:
    """``BoundObjects`` and ``SecretSource`` over a registry; nothing is found before ``follow``."""

    def __init__(self) -> None:
        self._lookups: Final[dict[str, Lookup[Found]]] = {}
        self._secrets: Lookup[dict[str, Any]] | None = None

    def follow(self, registry: Registry) -> None:
        """Look things up there from now on."""
        for kind, plural in _PLURALS.items():
            self._lookups[kind] = Lookup(registry.stored(plural).cache, _found)
        self._secrets = Lookup(registry.stored("secrets").cache, whole)

    async def find(self, kind: str, name: str, *, namespace: str) -> Found | None:
        """The object of a kind; None when there is none."""
        lookup = self._lookups.get(kind)
        return None if lookup is None else await lookup.get(name, namespace=namespace)

    async def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        """A Secret's tree; None when there is none."""
        return None if self._secrets is None else await self._secrets.get(name, namespace=namespace)


def _found(tree: dict[str, Any]) -> Found:
    metadata = tree["metadata"]
    deleted = metadata.get("deletionTimestamp")
    secrets = tree.get("secrets") or ()
    return Found(
        metadata.get("uid") or "",
        datetime.fromisoformat(deleted).timestamp() if deleted else None,
        tuple(ref.get("name", "") for ref in secrets),
    )
