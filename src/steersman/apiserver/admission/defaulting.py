"""Selection of the default class among several candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable


class Candidate(NamedTuple):
    """A class, with its creation time and whether it is marked as the default."""

    name: str
    created: str
    is_default: bool

    @classmethod
    def of(cls, tree: dict[str, Any], *annotations: str) -> Self:
        """Read a class; any of ``annotations`` with the value ``true`` marks it as the default."""
        metadata = tree["metadata"]
        annotation_values = metadata.get("annotations") or {}
        is_default = any(annotation_values.get(name) == "true" for name in annotations)
        return cls(metadata["name"], metadata.get("creationTimestamp", ""), is_default=is_default)


def newest_default(candidates: Iterable[Candidate]) -> str | None:
    """Return the newest default class, among equally old ones the first by name; None without any."""
    defaults = [candidate for candidate in candidates if candidate.is_default]
    if not defaults:
        return None
    newest = max(candidate.created for candidate in defaults)
    return min(candidate.name for candidate in defaults if candidate.created == newest)
