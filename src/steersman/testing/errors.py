"""Errors of clusters for tests, of those in this process and of those in another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import msgspec


class ClusterError(RuntimeError):
    """The cluster cannot do this, did not reach the awaited state, or has ended; the text has the reason."""


class ClockError(ClusterError):
    """The clock cannot do this: it is real, or time would go back."""


def field_and_reason(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the field of a struct that an error is about, and the reason."""
    reason, _, path = str(error).partition(" - at `$.")
    return path.rstrip("`"), reason[:1].lower() + reason[1:]
