"""Plan of the system namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree


def plan_namespaces(wanted: Iterable[str], existing: Iterable[str]) -> list[Tree]:
    """Return the namespaces to create. One that is terminating exists, and is recreated after its end."""
    there = set(existing)
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in dict.fromkeys(wanted)
        if name not in there
    ]
