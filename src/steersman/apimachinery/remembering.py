"""Answers of pure rules, remembered by what the rule was asked about.

Controllers write the same pod spec thousands of times. Writing a tree as JSON and hashing it is C code and takes
microseconds; walking it in Python takes a hundred times as long.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from steersman.apimachinery.codec import encode

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

_Answer = TypeVar("_Answer")

_DIGEST_BYTES: Final = 16


def digest(text: bytes) -> bytes:
    """Stands for a text; two texts do not share it, by any likelihood, not even when somebody tries."""
    return blake2b(text, digest_size=_DIGEST_BYTES).digest()


def digest_of(tree: Any) -> bytes:
    """Stands for a tree. Trees with their keys in another order have another digest."""
    return digest(encode(tree))


class Remembered(Generic[_Answer]):
    """A bounded table of answers. When it is full, all are forgotten: that costs less than an order of use."""

    __slots__ = ("_answers", "_entries_max", "get")

    def __init__(self, *, entries_max: int = 2048) -> None:
        self._answers: dict[Hashable, _Answer] = {}
        self._entries_max: Final = entries_max
        #: The answer to what has this key, or None.
        self.get: Final = self._answers.get

    def put(self, key: Hashable, answer: _Answer) -> None:
        """Remember an answer."""
        if len(self._answers) >= self._entries_max:
            self._answers.clear()
        self._answers[key] = answer
