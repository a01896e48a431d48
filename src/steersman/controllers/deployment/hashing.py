"""Names of ReplicaSets, with the hash of their template in them."""

from __future__ import annotations

from typing import Final

_NAME_MAX: Final = 253


def set_name(deployment: str, made: str) -> str:
    """The name of the ReplicaSet, cut to what a name may have."""
    return f"{deployment[: _NAME_MAX - len(made) - 1]}-{made}"
