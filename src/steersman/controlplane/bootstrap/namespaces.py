"""The namespaces that everybody expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    Tree = dict[str, Any]


def plan_namespaces(wanted: Iterable[str], existing: Iterable[str]) -> list[Tree]:
    """The namespaces to make. One that is on its way out exists; it is made anew when it is gone."""
    there = set(existing)
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in dict.fromkeys(wanted)
        if name not in there
    ]
