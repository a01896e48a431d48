"""Further objects that kube-apiserver makes for itself: priority classes of the system, and the range of cluster IPs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.controlplane.bootstrapping import Wanted, ensure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apiserver.server.loopback import Loopback

    Tree = dict[str, Any]

_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
_CIDRS: Final = "/apis/networking.k8s.io/v1/servicecidrs"
#: Above everything that users may ask for (a billion).
_SYSTEM_CRITICAL: Final = 2_000_000_000
_APPLY: Final = {"content-type": "application/apply-patch+yaml"}
_CIDR_MANAGER: Final = "kubernetes-service-cidr-controller"


def priority_classes() -> list[Tree]:
    """``system-cluster-critical`` and ``system-node-critical``."""
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
    """Make those that are missing. Raises RuntimeError."""
    await ensure(client, [Wanted(_CLASSES, tree) for tree in priority_classes()])


async def bootstrap_service_cidr(client: Loopback, cidrs: Sequence[str], *, now: datetime) -> None:
    """Make the ServiceCIDR ``kubernetes`` of the server's own ranges, and say that it is ready. Raises RuntimeError."""
    tree = {
        "kind": "ServiceCIDR",
        "apiVersion": "networking.k8s.io/v1",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": list(cidrs)},
    }
    await ensure(client, [Wanted(_CIDRS, tree)])
    answer = await client.request("GET", f"{_CIDRS}/kubernetes")
    found = answer.json()
    conditions = (found.get("status") or {}).get("conditions") or ()
    if answer.code != 200 or any(condition["type"] == "Ready" for condition in conditions):
        return
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    status = {**tree, "status": {"conditions": [ready]}}
    del status["spec"]
    path = f"{_CIDRS}/kubernetes/status?fieldManager={_CIDR_MANAGER}&force=true"
    answer = await client.request("PATCH", path, body=msgspec.json.encode(status), headers=_APPLY)
    if answer.code != 200:
        raise RuntimeError(f"{path}: {answer.body.decode(errors='replace')}")
