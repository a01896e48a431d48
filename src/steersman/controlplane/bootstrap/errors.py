"""What can keep a server from becoming a cluster."""

from __future__ import annotations


class BootstrapError(RuntimeError):
    """The server cannot get ready; the text says why, for whoever started it."""
