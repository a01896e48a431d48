"""A real control plane for tests.

``ControlPlane`` starts ``steersman apiserver`` in a process of its own and stops it again; the pytest plugin
(``steersman.testing.plugin``, loaded by itself once the package is installed) has it as the fixture
``steersman_cluster``. ``InProcessAPIServer`` is the same API server on the test's own event loop, without a socket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.extras import load_attribute

if TYPE_CHECKING:
    from steersman.testing.cluster import ControlPlane
    from steersman.testing.inprocess import InProcessAPIServer

__all__ = ["ControlPlane", "InProcessAPIServer"]

_MODULES: Final = {"ControlPlane": "cluster", "InProcessAPIServer": "inprocess"}


def __getattr__(name: str) -> Any:
    """Load what is asked for: the plugin comes into every pytest session, and most never start a server."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_attribute(f"{__name__}.{_MODULES[name]}", name, f"{__name__}.{name}", "server")
