"""Caches of functions of a client's text, bounded by the length of the text as well as by the number of texts."""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


def text_cache(entries_max: int, *, length_max: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Cache results for texts of up to ``length_max`` characters; longer ones are computed each time."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        cached = lru_cache(maxsize=entries_max)(function)

        @wraps(function)
        def of_text(text: str, /) -> T:
            return cached(text) if len(text) <= length_max else function(text)

        return of_text

    return decorate


def text_and_options_cache(
    entries_max: int, *, length_max: int
) -> Callable[[Callable[Concatenate[str, P], T]], Callable[Concatenate[str, P], T]]:
    """``text_cache`` for functions with further arguments, which must be hashable and small."""

    def decorate(function: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
        cached = lru_cache(maxsize=entries_max)(function)

        @wraps(function)
        def of_text(text: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
            if len(text) > length_max:
                return function(text, *args, **kwargs)
            return cached(text, *args, **kwargs)  # type: ignore[arg-type]  # hashable, as the contract says

        return of_text

    return decorate
