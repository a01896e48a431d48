"""Text that ``steersman up`` prints when the first node is Ready."""

from __future__ import annotations

from typing import Any, Final

#: Commands to try next; the test of the tour runs each of them.
HINTS: Final = (
    ("kubectl create deployment web --image=nginx --replicas=3", "three pods run a moment later"),
    ("steersman status", "what runs here"),
    ("steersman down", "stops it, as Ctrl-C does"),
)


def ready_message(node: str, elapsed_seconds: float) -> list[str]:
    """Return the lines, in their order."""
    width = max(len(command) for command, _ in HINTS)
    hints = [f"  {command:{width}}   {effect}" for command, effect in HINTS]
    return [f"node {node} is Ready after {elapsed_seconds:.2f} s: pods run now", *hints]


def is_ready(node: dict[str, Any]) -> bool:
    """Report whether the node's condition ``Ready`` is true."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions)
