"""Steersman: a Kubernetes control plane in Python, and a toolkit for writing controllers.

The folder list is the dependency order; ``docs/architecture.md`` walks through it.
"""

from steersman.version import __version__

__all__ = ["__version__"]
