"""Conditions of a status: lookup by type and updates that move ``lastTransitionTime`` only with the status.

For typed structs of each kind's own class and for plain trees; inputs are not modified. Upstream:
``apimachinery/pkg/api/meta/conditions.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from steersman.runtime.structs import field, replaced

if TYPE_CHECKING:
    from collections.abc import Sequence

C = TypeVar("C")


def find_condition(conditions: Sequence[C] | None, type_: str) -> C | None:
    """Return the condition of a type; None if it is absent."""
    for condition in conditions or ():
        own_type = condition.get("type") if isinstance(condition, dict) else getattr(condition, "type", None)
        if own_type == type_:
            return condition
    return None


def is_condition_true(conditions: Sequence[Any] | None, type_: str) -> bool:
    """Report whether the condition exists with status ``True``."""
    condition = find_condition(conditions, type_)
    return condition is not None and field(condition, "status") == "True"


def is_condition_false(conditions: Sequence[Any] | None, type_: str) -> bool:
    """Report whether the condition exists with status ``False``."""
    condition = find_condition(conditions, type_)
    return condition is not None and field(condition, "status") == "False"


def with_condition(conditions: Sequence[C] | None, new: C, *, now: str) -> list[C]:
    """Return the conditions with ``new`` added or replaced in place. Upstream: ``meta.SetStatusCondition``.

    ``lastTransitionTime`` is kept unless the status changes. ``now`` (``Clock.now`` formatted by ``format_time``) is
    the transition time if ``new`` has none.
    """
    listed = list(conditions or ())
    for place, old in enumerate(listed):
        if field(old, "type") == field(new, "type"):
            listed[place] = _transition(old, new, now)
            return listed
    listed.append(replaced(new, lastTransitionTime=field(new, "lastTransitionTime") or now))
    return listed


def without_condition(conditions: Sequence[C] | None, type_: str) -> list[C]:
    """Return the conditions except those of a type."""
    return [condition for condition in conditions or () if field(condition, "type") != type_]


def _transition(old: C, new: C, now: str) -> C:
    if field(old, "status") == field(new, "status"):
        return replaced(new, lastTransitionTime=field(old, "lastTransitionTime"))
    return replaced(new, lastTransitionTime=field(new, "lastTransitionTime") or now)
