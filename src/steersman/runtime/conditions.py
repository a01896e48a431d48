"""Conditions of a status: found by type, and the time of transition moves only with the status.

For typed structs of every kind's own class and for plain trees; nothing is changed in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from steersman.runtime.structs import field, replaced

if TYPE_CHECKING:
    from collections.abc import Sequence

C = TypeVar("C")


def find_condition(conditions: Sequence[C] | None, type_: str) -> C | None:
    """The condition of that type."""
    for condition in conditions or ():
        if field(condition, "type") == type_:
            return condition
    return None


def is_condition_true(conditions: Sequence[Any] | None, type_: str) -> bool:
    """Whether the condition is there with status ``True``."""
    found = find_condition(conditions, type_)
    return found is not None and field(found, "status") == "True"


def is_condition_false(conditions: Sequence[Any] | None, type_: str) -> bool:
    """Whether the condition is there with status ``False``."""
    found = find_condition(conditions, type_)
    return found is not None and field(found, "status") == "False"


def with_condition(conditions: Sequence[C] | None, new: C, *, now: str) -> list[C]:
    """The list with ``new`` in it (``meta.SetStatusCondition``).

    A condition of its type is replaced where it stands; it keeps its time of transition unless the status differs.
    ``now`` (``Clock.now`` as ``format_time`` writes it) is the time of a transition that does not tell its own.
    """
    listed = list(conditions or ())
    for place, old in enumerate(listed):
        if field(old, "type") == field(new, "type"):
            listed[place] = _transition(old, new, now)
            return listed
    listed.append(replaced(new, lastTransitionTime=field(new, "lastTransitionTime") or now))
    return listed


def without_condition(conditions: Sequence[C] | None, type_: str) -> list[C]:
    """The list without the conditions of that type."""
    return [condition for condition in conditions or () if field(condition, "type") != type_]


def _transition(old: C, new: C, now: str) -> C:
    if field(old, "status") == field(new, "status"):
        return replaced(new, lastTransitionTime=field(old, "lastTransitionTime"))
    return replaced(new, lastTransitionTime=field(new, "lastTransitionTime") or now)
