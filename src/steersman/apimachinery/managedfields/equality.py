"""JSON equality for ownership."""

from __future__ import annotations

from typing import Any, Final

from steersman.apimachinery.workmeter import charged

_UNITS_PER_VALUE: Final = 1


def equal_exactly(left: Any, right: Any) -> bool:
    """Report JSON equality: numbers by value; a boolean is not a number (unlike in Python)."""
    if left.__class__ is not right.__class__:
        return left == right and not isinstance(left, bool) and not isinstance(right, bool)
    if left.__class__ is dict:
        if left.keys() != right.keys():
            return False
        return all(equal_exactly(left[key], right[key]) for key in charged(left, _UNITS_PER_VALUE))
    if left.__class__ is list:
        return len(left) == len(right) and all(map(equal_exactly, charged(left, _UNITS_PER_VALUE), right))
    return bool(left == right)
