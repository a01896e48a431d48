"""Plan of the system namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree


def plan_namespaces(names: Iterable[str], existing: Iterable[str]) -> list[Tree]:
    """Return the namespaces to create. One that is terminating exists, and is recreated after its end."""
    existing_names = set(existing)
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in dict.fromkeys(names)
        if name not in existing_names
    ]
