"""What JSON text says beyond a tree's values: how a number was written, which keys were given twice.

Subclasses of built-in types, which must lie in a module that is not compiled (decision 0006).
"""

from __future__ import annotations

from typing import Any, Self


class NumberText(float):
    """A number with a fraction or an exponent that remembers how it was written."""

    text: str

    def __new__(cls, text: str) -> Self:
        """``text`` is the number as JSON text holds it."""
        number = super().__new__(cls, text)
        number.text = text
        return number


class Pairs(list[tuple[str, Any]]):
    """An object with all its keys, in order, those given twice as well."""
