"""Condition ``Dangling`` of FlowSchemas: whether the referenced priority level exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from steersman.apimachinery.trees import Tree


_API_VERSION: Final = "flowcontrol.apiserver.k8s.io/v1"


def plan_conditions(schemas: Sequence[Tree], levels: Collection[str], *, now_text: str) -> Iterator[Tree]:
    """Yield the apply configurations for schemas whose condition is outdated."""
    for schema in schemas:
        level = ((schema.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name", "")
        desired = _condition(level, exists=level in levels)
        stored: Tree = next(
            (
                condition
                for condition in (schema.get("status") or {}).get("conditions") or ()
                if condition.get("type") == "Dangling"
            ),
            {},
        )
        if all(stored.get(name) == value for name, value in desired.items()):
            continue
        since = stored.get("lastTransitionTime") if stored.get("status") == desired["status"] else None
        yield {
            "apiVersion": _API_VERSION,
            "kind": "FlowSchema",
            "metadata": {"name": schema["metadata"]["name"]},
            "status": {"conditions": [{**desired, "lastTransitionTime": since or now_text}]},
        }


def _condition(level: str, *, exists: bool) -> Tree:
    start = f"This FlowSchema references the PriorityLevelConfiguration object named {quote(level)}"
    return {
        "type": "Dangling",
        "status": "False" if exists else "True",
        "reason": "Found" if exists else "NotFound",
        "message": f"{start} and it exists" if exists else f"{start} but there is no such object",
    }
