"""Classes of which one may be the default: how several that say so are told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable


class Candidate(NamedTuple):
    """A class, and whether an annotation makes it the default."""

    name: str
    created: str
    is_default: bool

    @classmethod
    def of(cls, tree: dict[str, Any], *annotations: str) -> Self:
        """What counts of a class; any of ``annotations`` may say ``true``."""
        metadata = tree["metadata"]
        said = metadata.get("annotations") or {}
        is_default = any(said.get(name) == "true" for name in annotations)
        return cls(metadata["name"], metadata.get("creationTimestamp", ""), is_default=is_default)


def newest_default(candidates: Iterable[Candidate]) -> str | None:
    """The newest of the default classes, of those of one second the first by name; None without any."""
    defaults = [one for one in candidates if one.is_default]
    if not defaults:
        return None
    newest = max(one.created for one in defaults)
    return min(one.name for one in defaults if one.created == newest)
