"""Errors of the test kit. An error of the process of a cluster is raised in the test's as the class of the same name."""

from __future__ import annotations

from typing import Final


class ClusterError(RuntimeError):
    """The cluster cannot do this, or has ended; the text has the reason and the end of its log."""


class ClusterTimeoutError(ClusterError, TimeoutError):
    """The cluster did not reach the awaited state; the text describes its state."""


class ClockError(ClusterError):
    """The clock of the cluster cannot do this."""


_CLASSES: Final[dict[str, type[ClusterError]]] = {
    each.__name__: each for each in (ClusterError, ClusterTimeoutError, ClockError)
}


def error_of(name: str, message: str) -> ClusterError:
    """Return the error for the class name and message of a cluster's process."""
    known = _CLASSES.get(name)
    return ClusterError(f"{name}: {message}") if known is None else known(message)
