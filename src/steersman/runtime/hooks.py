"""Hooks: callables of the user, plain functions or coroutine functions."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


def check_hook(name: str, hook: Callable[..., Any], *parameters: str) -> None:
    """Raise TypeError unless ``hook`` can be called with one positional argument for each of ``parameters``.

    A callable without an inspectable signature (some builtins) is accepted.
    """
    expected = f"{name} must be a function or a coroutine function ({', '.join(parameters)})"
    if not callable(hook):
        raise TypeError(f"{expected}, not {type(hook).__name__}")
    if inspect.isgeneratorfunction(hook) or inspect.isasyncgenfunction(hook):
        raise TypeError(f"{expected}, not a generator function: {_described(hook)}")
    try:
        signature = inspect.signature(hook)
    except ValueError:
        return
    try:
        signature.bind(*parameters)
    except TypeError as error:
        raise TypeError(f"{expected}, not {_described(hook)}: {error}") from None


async def call_hook(hook: Callable[..., T | Awaitable[T]], *arguments: object) -> T:
    """Call ``hook``, await its result if that is awaitable, and return it. Raises what the hook raises."""
    result = hook(*arguments)
    return await result if inspect.isawaitable(result) else result


def _described(hook: Callable[..., Any]) -> str:
    return f"{getattr(hook, '__qualname__', type(hook).__name__)}{inspect.signature(hook)}"
