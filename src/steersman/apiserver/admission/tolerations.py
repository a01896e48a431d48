"""Comparison and merging of tolerations. Upstream: ``pkg/util/tolerations``."""

from __future__ import annotations

import math
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from steersman.apimachinery.trees import tree_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree

    #: Key, effect, operator and value.
    _Class: TypeAlias = tuple[str, str, str, str]
    #: Seconds that a toleration lasts, whether it has no operator (it is covered by none that has one), and position.
    _Rank: TypeAlias = tuple[float, bool, int]


def merge_tolerations(first: Sequence[Tree], second: Sequence[Tree]) -> list[Tree]:
    """Merge both lists, without tolerations that another one covers; the first of equal ones is kept.

    Among tolerations with the same key, effect, operator and value, the one with the longest duration covers the
    others, so each toleration is compared with at most eight others.
    """
    by_key: dict[bytes, Tree] = {}
    #: Of several that cover each other, the one whose last repetition is the latest is kept.
    last_positions: dict[bytes, int] = {}
    for position, toleration in enumerate((*first, *second)):
        key = tree_key(toleration)
        by_key.setdefault(key, toleration)
        last_positions[key] = position
    distinct = list(by_key.values())
    widest: dict[_Class, tuple[_Rank, Tree]] = {}
    for key, toleration in by_key.items():
        class_ = _class_of(toleration)
        ranked = (_rank(toleration, last_positions[key]), toleration)
        widest[class_] = max(widest.get(class_, ranked), ranked, key=itemgetter(0))
    return [each for each in distinct if not _is_covered(each, widest)]


def _class_of(toleration: Tree) -> _Class:
    operator = toleration.get("operator", "Equal")
    value = toleration.get("value", "") if operator != "Exists" else ""
    return toleration.get("key") or "", toleration.get("effect") or "", operator, value


def _rank(toleration: Tree, position: int) -> _Rank:
    seconds = toleration.get("tolerationSeconds")
    lasts = math.inf if seconds is None or toleration.get("effect") != "NoExecute" else float(seconds)
    return lasts, "operator" not in toleration, position


def _is_covered(toleration: Tree, widest: dict[_Class, tuple[_Rank, Tree]]) -> bool:
    key, effect, value = toleration.get("key") or "", toleration.get("effect") or "", toleration.get("value", "")
    for class_ in product((key, ""), (effect, ""), ("Exists", "Equal")):
        ranked = widest.get((*class_, "" if class_[2] == "Exists" else value))
        if ranked is not None and ranked[1] is not toleration and covers(ranked[1], toleration):
            return True
    return False


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
