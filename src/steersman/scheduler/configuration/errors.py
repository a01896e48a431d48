"""What is told of a configuration that cannot be used."""

from __future__ import annotations


class ConfigurationError(ValueError):
    """The scheduler cannot be started with such a configuration; the message says why."""
