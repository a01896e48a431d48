"""Indexed lookup of an object's dependents, and of orphans that it may adopt, in a cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from steersman.client.objects import namespace_of, uid_of
from steersman.runtime.owners import stored_controller_of
from steersman.runtime.structs import field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.client.informer import Informer
    from steersman.client.store import Lister

T = TypeVar("T")

_INDEX: Final = "controller"


def index_dependents(informer: Informer[Any]) -> None:
    """Add the index that ``controlled_by`` and ``orphans`` read. Idempotent."""
    informer.add_index(_INDEX, _controller)


def controlled_by(lister: Lister[T], uid: str) -> Sequence[T]:
    """Return the objects whose controller has this UID."""
    return lister.by_index(_INDEX, uid)


def orphans(lister: Lister[T], namespace: str) -> Sequence[T]:
    """Return the objects of a namespace without a controller."""
    return lister.by_index(_INDEX, _orphanage(namespace))


def candidates(lister: Lister[T], owner: Any) -> list[T]:
    """Return the dependents of ``owner`` and the orphans that it may adopt, as input for ``ReferenceManager.claim``."""
    return [*controlled_by(lister, uid_of(owner)), *orphans(lister, namespace_of(owner))]


def _controller(obj: Any) -> tuple[str]:
    reference = stored_controller_of(obj)
    return (_orphanage(namespace_of(obj)) if reference is None else field(reference, "uid") or "",)


def _orphanage(namespace: str) -> str:
    return f"orphans of {namespace}"
