"""Errors of the bootstrap controller."""

from __future__ import annotations


class BootstrapError(RuntimeError):
    """The server cannot become ready; the message is for the user."""
