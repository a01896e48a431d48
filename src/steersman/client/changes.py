"""Events that informers deliver to their listeners, as one closed union for ``match``.

Upstream: ``k8s.io/client-go/tools/cache.ResourceEventHandler``.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class Added(msgspec.Struct, Generic[T], frozen=True):
    """An object was added to the cache."""

    new: T
    #: The object was in the cache, or in the first list, when the listener was registered.
    is_initial: bool = False

    @property
    def latest(self) -> T:
        """Newest state of the object."""
        return self.new


class Updated(msgspec.Struct, Generic[T], frozen=True):
    """An object was replaced in the cache; at a resync ``old`` and ``new`` are the same object.

    An object that was deleted and recreated between two lists is delivered as a deletion and an addition. client-go
    delivers one update, which controllers easily mistake for a change of the same object.
    """

    old: T
    new: T

    @property
    def latest(self) -> T:
        """Newest state of the object."""
        return self.new


class Deleted(msgspec.Struct, Generic[T], frozen=True):
    """An object was removed from the cache."""

    #: Final state; with ``final_state_unknown`` the last cached state, as the deletion event was missed (client-go's
    #: ``DeletedFinalStateUnknown``).
    old: T
    final_state_unknown: bool = False

    @property
    def latest(self) -> T:
        """Newest state of the object."""
        return self.old


Change = Added[T] | Updated[T] | Deleted[T]


def coalesce(first: Change[Any], second: Change[Any]) -> Change[Any] | None:
    """Return two consecutive changes of one object as one; None if they cannot be coalesce.

    An addition followed by a deletion cancels out (``cancels_out``); a deletion followed by an addition stays two
    changes.
    """
    match first, second:
        case Added(), Updated():
            return Added(second.new, first.is_initial)
        case Updated(), Updated():
            return Updated(first.old, second.new)
        case Updated(), Deleted():
            return second
        case _:
            return None


def cancels_out(first: Change[Any], second: Change[Any]) -> bool:
    """Report whether two consecutive changes leave a listener with nothing to process."""
    return isinstance(first, Added) and isinstance(second, Deleted)
