"""Conditions that the API server writes into ``status.conditions`` of Pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


def set_condition(status: Tree, condition: Tree, stamp: str) -> None:
    """Add ``condition`` or replace the one of its type; ``lastTransitionTime`` changes only with ``status``."""
    whole = {
        "type": condition["type"],
        "status": condition["status"],
        "lastProbeTime": None,
        "lastTransitionTime": stamp,
        **{name: value for name, value in condition.items() if value},
    }
    conditions = list(status.get("conditions") or ())
    status["conditions"] = conditions
    for place, existing in enumerate(conditions):
        if existing.get("type") == condition["type"]:
            if existing.get("status") == condition["status"]:
                whole["lastTransitionTime"] = existing.get("lastTransitionTime")
            conditions[place] = whole
            return
    conditions.append(whole)
