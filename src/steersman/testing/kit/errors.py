"""Errors of a cluster's process, raised in the test's process as the class of the same name."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from steersman.testing.errors import ClockError, ClusterError

#: Modules of the error classes that are preserved.
_MODULES: Final = {
    "WaitError": "waiting",
    "SettleError": "waiting",
    "BadCondition": "waiting",
    "BadReference": "references",
    "FaultError": "faults",
    "LeftoverFaults": "faults",
    "PatternError": "trace",
}
_CLASSES: Final[dict[str, type[ClusterError]]] = {cls.__name__: cls for cls in (ClusterError, ClockError)}


def error_of(name: str, message: str) -> Exception:
    """Return the error for the class name and message of a cluster's process."""
    if name == "AssertionError":
        return AssertionError(message)
    if name in _MODULES:
        error: Exception = getattr(import_module(f"steersman.testing.{_MODULES[name]}"), name)(message)
        return error
    cls = _CLASSES.get(name)
    return ClusterError(f"{name}: {message}") if cls is None else cls(message)
