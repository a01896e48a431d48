"""JSON values with details that trees lose: the text of numbers, duplicate keys.

Subclasses of built-in types, which must not be in a compiled module (decision 0006).
"""

from __future__ import annotations

from typing import Any, Self


class NumberText(float):
    """Number with a fraction or exponent that keeps its text."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Keep ``text``, the number as written in JSON."""
        number = super().__new__(cls, text)
        number.text = text
        return number


class Pairs(list[tuple[str, Any]]):
    """Object with all its keys in order, duplicates included."""
