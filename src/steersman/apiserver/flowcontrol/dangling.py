"""Whether the level of a FlowSchema is there: the condition ``Dangling`` of its status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    Tree = dict[str, Any]

_API_VERSION: Final = "flowcontrol.apiserver.k8s.io/v1"


def plan_conditions(schemas: Sequence[Tree], levels: Collection[str], *, now_text: str) -> Iterator[Tree]:
    """What is to be applied to the status of those schemas that say something else."""
    for schema in schemas:
        level = ((schema.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name", "")
        wanted = _condition(level, exists=level in levels)
        found: Tree = next(
            (each for each in (schema.get("status") or {}).get("conditions") or () if each.get("type") == "Dangling"),
            {},
        )
        if all(found.get(name) == value for name, value in wanted.items()):
            continue
        since = found.get("lastTransitionTime") if found.get("status") == wanted["status"] else None
        yield {
            "apiVersion": _API_VERSION,
            "kind": "FlowSchema",
            "metadata": {"name": schema["metadata"]["name"]},
            "status": {"conditions": [{**wanted, "lastTransitionTime": since or now_text}]},
        }


def _condition(level: str, *, exists: bool) -> Tree:
    start = f"This FlowSchema references the PriorityLevelConfiguration object named {quote(level)}"
    return {
        "type": "Dangling",
        "status": "False" if exists else "True",
        "reason": "Found" if exists else "NotFound",
        "message": f"{start} and it exists" if exists else f"{start} but there is no such object",
    }
