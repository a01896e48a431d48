"""Errors of clusters for tests, of those in this process and of those in another."""

from __future__ import annotations


class ClusterError(RuntimeError):
    """The cluster cannot do this, did not reach the awaited state, or has ended; the text has the reason."""


class ClockError(ClusterError):
    """The clock cannot do this: it is real, or time would go back."""
