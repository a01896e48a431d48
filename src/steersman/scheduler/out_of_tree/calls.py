"""Calls of plugins' methods: exceptions and statuses become the scheduler's errors, which name plugin and extension point."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar

from steersman.apimachinery.gotext import quote
from steersman.scheduler.framework import PluginError, PluginRejection, Rejection
from steersman.scheduler.out_of_tree.interface import Code, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_log = logging.getLogger(__name__)

T = TypeVar("T")


def call(name: str, point: str, method: Callable[..., Any], *args: Any) -> Any:
    """Return the result of a method. Raises ``PluginError`` for an exception or a status ``ERROR``."""
    try:
        result = method(*args)
    except Exception as error:
        raise _failure(name, point, error) from error
    return _checked(name, point, result)


async def call_async(name: str, point: str, method: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> Any:
    """Return the result of a coroutine, as ``call`` does."""
    try:
        result = await method(*args)
    except Exception as error:
        raise _failure(name, point, error) from error
    return _checked(name, point, result)


def _failure(name: str, point: str, error: Exception) -> PluginError:
    _log.error("%s plugin %s failed", point, name, exc_info=error)
    return PluginError(f"running {point} plugin {quote(name)}: {type(error).__name__}: {error}")


def _checked(name: str, point: str, result: Any) -> Any:
    if isinstance(result, Status) and result.code is Code.ERROR:
        raise PluginError(f"running {point} plugin {quote(name)}: {result.message}")
    return result


def expect(name: str, point: str, result: Any, type_: type[T] = Status) -> T | Status | None:  # type: ignore[assignment]
    """Return a result of the type, a status, or None. Raises ``PluginError`` for any other."""
    if result is None or isinstance(result, (Status, type_)):
        return result
    raise PluginError(f"running {point} plugin {quote(name)}: it returned {type(result).__name__}")


def rejection_of(name: str, status: Status) -> Rejection:
    """Return the rejection that a status stands for."""
    return Rejection(name, status.reasons or (status.code.value,), resolvable=status.code is Code.UNSCHEDULABLE)


def require_success(name: str, point: str, result: Any) -> None:
    """Raise ``PluginRejection`` for a status, ``PluginError`` for a result of another type."""
    status = expect(name, point, result)
    if status is not None:
        raise PluginRejection(rejection_of(name, status))
