"""Control planes for tests.

``Cluster`` is a whole control plane of one test, in a process that is forked for it; the pytest plugin
(``steersman.testing.plugin``) provides it as the fixture ``cluster``. ``EmbeddedCluster`` is the same on the event loop of
the test, without a port, and ``InProcessAPIServer`` the API server alone. ``ControlPlane`` runs ``steersman apiserver`` or
``steersman up`` as a child process, the fixture ``steersman_cluster``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.extras import load_attribute

if TYPE_CHECKING:
    from steersman.testing.cluster import ControlPlane
    from steersman.testing.embedded import EmbeddedCluster
    from steersman.testing.inprocess import InProcessAPIServer
    from steersman.testing.kit.cluster import Cluster, Snapshot
    from steersman.testing.kit.errors import ClockError, ClusterError
    from steersman.testing.kit.operators import Operator, OperatorError
    from steersman.testing.kit.template import ClusterTemplate

__all__ = [
    "ClockError",
    "Cluster",
    "ClusterError",
    "ClusterTemplate",
    "ControlPlane",
    "EmbeddedCluster",
    "InProcessAPIServer",
    "Operator",
    "OperatorError",
    "Snapshot",
]

_MODULES: Final = {
    "ClockError": "kit.errors",
    "Cluster": "kit.cluster",
    "ClusterError": "kit.errors",
    "ClusterTemplate": "kit.template",
    "ControlPlane": "cluster",
    "EmbeddedCluster": "embedded",
    "InProcessAPIServer": "inprocess",
    "Operator": "kit.operators",
    "OperatorError": "kit.operators",
    "Snapshot": "kit.cluster",
}


def __getattr__(name: str) -> Any:
    """Import an exported name on first use: every pytest session loads the plugin, few start a server."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_attribute(f"{__name__}.{_MODULES[name]}", name, f"{__name__}.{name}", "server")
