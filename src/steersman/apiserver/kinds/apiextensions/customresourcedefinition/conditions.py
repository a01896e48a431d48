"""Conditions in the status of CustomResourceDefinitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


def set_condition(conditions: list[Tree], type_: str, status: str, reason: str, message: str, *, now: str) -> None:
    """Set a condition in place; ``lastTransitionTime`` changes only with ``status``."""
    condition = next((c for c in conditions if c.get("type") == type_), None)
    if condition is None:
        condition = {"type": type_}
        conditions.append(condition)
    if condition.get("status") != status:
        condition["lastTransitionTime"] = now
    condition.update({"status": status, "reason": reason, "message": message})
