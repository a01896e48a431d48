"""Comparison and merging of tolerations. Upstream: ``pkg/util/tolerations``."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from steersman.apimachinery.trees import tree_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree

    #: Key, effect, operator and value.
    _Class: TypeAlias = tuple[str, str, str, str]


def merge_tolerations(first: Sequence[Tree], second: Sequence[Tree]) -> list[Tree]:
    """Merge both lists: drop what an earlier kept toleration covers, or a later one that differs.

    Linear: each toleration is compared with at most two of each of eight classes.
    """
    tolerations: list[Tree] = [*first, *second]
    later = _Widest()
    candidates: list[Tree] = []
    for toleration in reversed(tolerations):
        if not later.cover(toleration):
            candidates.append(toleration)
        later.add(toleration)
    earlier = _Widest()
    merged: dict[bytes, Tree] = {}
    for toleration in reversed(candidates):
        key = tree_key(toleration)
        if key not in merged and not earlier.cover(toleration):
            merged[key] = toleration
            earlier.add(toleration)
    return list(merged.values())


class _Widest:
    """The two different tolerations that last longest of each key, effect, operator and value."""

    __slots__ = ("_by_class",)

    def __init__(self) -> None:
        self._by_class: dict[_Class, list[Tree]] = {}

    def add(self, toleration: Tree) -> None:
        operator = toleration.get("operator", "Equal")
        value = toleration.get("value", "") if operator != "Exists" else ""
        widest = self._by_class.setdefault(
            (toleration.get("key") or "", toleration.get("effect") or "", operator, value), []
        )
        if toleration not in widest:
            widest.append(toleration)
            widest.sort(key=_seconds, reverse=True)
            del widest[2:]

    def cover(self, toleration: Tree) -> bool:
        """True if one that differs from the toleration covers it."""
        key, effect, value = toleration.get("key") or "", toleration.get("effect") or "", toleration.get("value", "")
        return any(
            wide != toleration and covers(wide, toleration)
            for class_ in product((key, ""), (effect, ""), ("Exists", "Equal"))
            for wide in self._by_class.get((*class_, "" if class_[2] == "Exists" else value), ())
        )


def _seconds(toleration: Tree) -> float:
    seconds = toleration.get("tolerationSeconds")
    return math.inf if seconds is None or toleration.get("effect") != "NoExecute" else float(seconds)


def covers(wide: Tree, narrow: Tree) -> bool:
    """True if ``wide`` tolerates all taints that ``narrow`` does."""
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
