"""Control planes for tests.

``ControlPlane`` runs ``steersman apiserver`` as a child process; the pytest plugin (``steersman.testing.plugin``, an
entry point of the installed package) provides it as the fixture ``steersman_cluster``. ``InProcessAPIServer`` is the
same API server on the test's event loop, without a socket; ``EmbeddedCluster`` is a whole control plane there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.extras import load_attribute

if TYPE_CHECKING:
    from steersman.testing.cluster import ControlPlane
    from steersman.testing.embedded import EmbeddedCluster
    from steersman.testing.inprocess import InProcessAPIServer

__all__ = ["ControlPlane", "EmbeddedCluster", "InProcessAPIServer"]

_MODULES: Final = {"ControlPlane": "cluster", "EmbeddedCluster": "embedded", "InProcessAPIServer": "inprocess"}


def __getattr__(name: str) -> Any:
    """Import an exported name on first use: every pytest session loads the plugin, few start a server."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_attribute(f"{__name__}.{_MODULES[name]}", name, f"{__name__}.{name}", "server")
