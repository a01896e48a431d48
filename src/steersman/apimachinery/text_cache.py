"""Caches of functions of a client's text, bounded by the length of the text as well as by the number of texts."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def text_cache(entries_max: int, *, length_max: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Cache results for texts of up to ``length_max`` characters; longer ones, and results of None, are computed each time.

    A full cache is cleared, which is cheaper than keeping an LRU order.
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        results: dict[str, T] = {}
        get = results.get

        @wraps(function)
        def of_text(text: str, /) -> T:
            result = get(text)
            if result is None:
                result = function(text)
                if len(text) <= length_max:
                    if len(results) >= entries_max:
                        results.clear()
                    results[text] = result
            return result

        return of_text

    return decorate
