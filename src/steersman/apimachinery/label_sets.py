"""Bound of a metric's label sets: names come from objects that clients create and delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

#: Label sets of one metric.
LABEL_SETS_MAX: Final = 4096


def make_room(table: dict[Any, Any], labels: Hashable) -> None:
    """Drop the oldest label set of a full table that does not have ``labels`` yet: its series ends, or begins again at zero."""
    if labels not in table:
        while len(table) >= LABEL_SETS_MAX:
            del table[next(iter(table))]
