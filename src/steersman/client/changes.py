"""What an informer tells its listeners: one closed union, to be matched."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class Added(msgspec.Struct, Generic[T], frozen=True):
    """An object is new in the cache."""

    new: T
    #: It was there when the listener began to listen.
    is_initial: bool = False

    @property
    def latest(self) -> T:
        """The newest state that is known."""
        return self.new


class Updated(msgspec.Struct, Generic[T], frozen=True):
    """An object is another than before; both are the same at a resync.

    One that was deleted and made anew while nobody watched comes as a deletion and an addition; client-go tells of one
    update then, which controllers easily take for a change of the same object.
    """

    old: T
    new: T

    @property
    def latest(self) -> T:
        """The newest state that is known."""
        return self.new


class Deleted(msgspec.Struct, Generic[T], frozen=True):
    """An object is gone."""

    #: Its last state, or with ``final_state_unknown`` the last that was seen: the deletion itself was missed
    #: (client-go's ``DeletedFinalStateUnknown``).
    old: T
    final_state_unknown: bool = False

    @property
    def latest(self) -> T:
        """The newest state that is known."""
        return self.old


Change = Added[T] | Updated[T] | Deleted[T]


def merged(first: Change[Any], second: Change[Any]) -> Change[Any] | None:
    """Two changes of one object as one, for a listener who heard of neither; None: they must stay two, or vanish.

    An addition with a deletion vanishes (``vanishes``); a deletion with an addition stays two.
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


def vanishes(first: Change[Any], second: Change[Any]) -> bool:
    """Whether two changes together are none."""
    return isinstance(first, Added) and isinstance(second, Deleted)
