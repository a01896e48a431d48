"""Finding what an object controls, and orphans it might adopt, in a cache: by an index, not by looking at everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from steersman.client.objects import namespace_of, uid_of
from steersman.runtime.owners import controller_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.client.informer import Informer
    from steersman.client.store import Lister

T = TypeVar("T")

_INDEX: Final = "controller"


def index_dependents(informer: Informer[Any]) -> None:
    """Let ``controlled_by`` and ``orphans`` find its objects. May be asked for by many."""
    informer.add_index(_INDEX, _controller)


def controlled_by(lister: Lister[T], uid: str) -> Sequence[T]:
    """Objects whose controller has this UID."""
    return lister.by_index(_INDEX, uid)


def orphans(lister: Lister[T], namespace: str) -> Sequence[T]:
    """Objects of a namespace that nothing controls."""
    return lister.by_index(_INDEX, _orphanage(namespace))


def candidates(lister: Lister[T], owner: Any) -> list[T]:
    """What ``owner`` controls and what it may adopt; still to be claimed (``references``)."""
    return [*controlled_by(lister, uid_of(owner)), *orphans(lister, namespace_of(owner))]


def _controller(obj: Any) -> tuple[str]:
    owner = controller_of(obj)
    return (owner.uid if owner else _orphanage(namespace_of(obj)),)


def _orphanage(namespace: str) -> str:
    return f"orphans of {namespace}"
