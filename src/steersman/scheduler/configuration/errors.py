"""Error of invalid scheduler configurations."""

from __future__ import annotations


class ConfigurationError(ValueError):
    """The configuration is invalid; the message gives the reason."""
