"""System priority classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.controlplane.bootstrap.ensure import DesiredObject, ensure

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.server.loopback import Loopback


_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
#: Above the maximum of users' classes (a billion).
_SYSTEM_CRITICAL: Final = 2_000_000_000


def priority_classes() -> list[Tree]:
    """Return ``system-cluster-critical`` and ``system-node-critical``."""
    texts = {
        "system-node-critical": (
            _SYSTEM_CRITICAL + 1000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
        "system-cluster-critical": (
            _SYSTEM_CRITICAL,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
    }
    return [
        {
            "kind": "PriorityClass",
            "apiVersion": "scheduling.k8s.io/v1",
            "metadata": {"name": name},
            "value": value,
            "description": text,
        }
        for name, (value, text) in texts.items()
    ]


async def bootstrap_priority_classes(client: Loopback) -> None:
    """Create missing priority classes. Raises RuntimeError."""
    await ensure(client, [DesiredObject(_CLASSES, tree) for tree in priority_classes()])
