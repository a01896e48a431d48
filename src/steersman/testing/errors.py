"""Errors of test clusters, in this process or another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import msgspec


class ClusterError(RuntimeError):
    """The operation is not possible, the awaited state was not reached, or the cluster has ended; the message has the reason."""


class ClockError(ClusterError):
    """The operation is not possible: the clock is real, or time would move backwards."""


def field_and_reason(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the field of a struct that an error is about, and the reason."""
    reason, _, path = str(error).partition(" - at `$.")
    return path.rstrip("`"), reason[:1].lower() + reason[1:]
