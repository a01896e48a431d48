"""What the plugins that fill in tolerations have in common (``pkg/util/tolerations`` upstream)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    Tree = dict[str, Any]


def merge_tolerations(first: Sequence[Tree], second: Sequence[Tree]) -> list[Tree]:
    """Both lists as one, without what another of them covers; of equal ones the first stays."""
    everything = [*first, *second]
    merged: list[Tree] = []
    for position, one in enumerate(everything):
        if any(covers(other, one) for other in merged):
            continue
        if any(other != one and covers(other, one) for other in everything[position + 1 :]):
            continue
        merged.append(one)
    return merged


def covers(wide: Tree, narrow: Tree) -> bool:
    """Whether ``wide`` tolerates all that ``narrow`` does."""
    if wide == narrow:
        return True
    if wide.get("key", "") != narrow.get("key", "") and (wide.get("key") or wide.get("operator") != "Exists"):
        return False
    if wide.get("effect") and wide["effect"] != narrow.get("effect"):
        return False
    seconds = wide.get("tolerationSeconds")
    if wide.get("effect") == "NoExecute" and seconds is not None:
        own = narrow.get("tolerationSeconds")
        if own is None or own > seconds:
            return False
    if wide.get("operator") == "Exists":
        return True
    is_equal = wide.get("operator", "Equal") == "Equal" and narrow.get("operator") == "Equal"
    return is_equal and wide.get("value", "") == narrow.get("value", "")
