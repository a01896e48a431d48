"""Names of ReplicaSets with the hash of their template."""

from __future__ import annotations

from typing import Final

_NAME_MAX: Final = 253


def set_name(deployment: str, name_suffix: str) -> str:
    """Return the name of a ReplicaSet, truncated to the length limit."""
    return f"{deployment[: _NAME_MAX - len(name_suffix) - 1]}-{name_suffix}"
