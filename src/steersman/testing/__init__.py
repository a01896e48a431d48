"""Control planes for tests.

``Cluster`` is the control plane of one test, in a forked process; the pytest plugin (``steersman.testing.plugin``) provides it
as the fixture ``cluster``. ``EmbeddedCluster`` is the same on the event loop of the test, without a port, and
``InProcessAPIServer`` only the API server. ``ControlPlane`` runs ``steersman apiserver`` or
``steersman up`` as a child process, the fixture ``steersman_cluster``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.extras import load_attribute

if TYPE_CHECKING:
    from steersman.testing.cluster import ControlPlane
    from steersman.testing.embedded import EmbeddedCluster
    from steersman.testing.errors import ClockError, ClusterError
    from steersman.testing.faults import FaultError, LeftoverFaults
    from steersman.testing.inprocess import InProcessAPIServer
    from steersman.testing.kit.cluster import Cluster, Snapshot
    from steersman.testing.kit.operators import Operator, OperatorError
    from steersman.testing.kit.template import ClusterTemplate
    from steersman.testing.kit.webhooks import WebhookServing
    from steersman.testing.waiting import SettleError, WaitError
    from steersman.testing.webhook_manifests import local_webhooks

__all__ = [
    "ClockError",
    "Cluster",
    "ClusterError",
    "ClusterTemplate",
    "ControlPlane",
    "EmbeddedCluster",
    "FaultError",
    "InProcessAPIServer",
    "LeftoverFaults",
    "Operator",
    "OperatorError",
    "SettleError",
    "Snapshot",
    "WaitError",
    "WebhookServing",
    "local_webhooks",
]

_MODULES: Final = {
    "ClockError": "errors",
    "Cluster": "kit.cluster",
    "ClusterError": "errors",
    "ClusterTemplate": "kit.template",
    "ControlPlane": "cluster",
    "EmbeddedCluster": "embedded",
    "FaultError": "faults",
    "InProcessAPIServer": "inprocess",
    "LeftoverFaults": "faults",
    "Operator": "kit.operators",
    "OperatorError": "kit.operators",
    "SettleError": "waiting",
    "Snapshot": "kit.cluster",
    "WaitError": "waiting",
    "WebhookServing": "kit.webhooks",
    "local_webhooks": "webhook_manifests",
}


def __getattr__(name: str) -> Any:
    """Import an exported name on first use: every pytest session loads the plugin, few start a server."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_attribute(f"{__name__}.{_MODULES[name]}", name, f"{__name__}.{name}", "server")
