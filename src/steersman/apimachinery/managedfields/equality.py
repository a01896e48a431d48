"""JSON equality for ownership."""

from __future__ import annotations

from typing import Any


def equal_exactly(left: Any, right: Any) -> bool:
    """Report JSON equality: numbers by value; a boolean is not a number (unlike in Python)."""
    if left.__class__ is not right.__class__:
        return left == right and not isinstance(left, bool) and not isinstance(right, bool)
    if left.__class__ is dict:
        return left.keys() == right.keys() and all(equal_exactly(left[key], right[key]) for key in left)
    if left.__class__ is list:
        return len(left) == len(right) and all(map(equal_exactly, left, right))
    return bool(left == right)
