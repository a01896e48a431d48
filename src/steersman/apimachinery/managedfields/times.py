"""Times of entries whose fields did not change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.managedfields.equality import equal_exactly

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


def keep_times_of_unchanged(live: Tree, new: Tree) -> None:
    """Restore the entries' times if they are the only change of a write, which then is a no-op.

    Call it after mutating admission, when the effect of normalization, defaults and webhooks is known. Mutates
    ``new``.
    """
    before, after = live["metadata"].get("managedFields"), new["metadata"].get("managedFields")
    if not before or not after or len(before) != len(after):
        return
    if all(old.get("time") == entry.get("time") for old, entry in zip(before, after, strict=True)):
        return
    if [_timeless(entry) for entry in before] != [_timeless(entry) for entry in after]:
        return
    if equal_exactly(_bare(live), _bare(new)):
        new["metadata"]["managedFields"] = before


def _timeless(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "time"}


def _bare(obj: Tree) -> Tree:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}
