"""ServiceCIDR ``kubernetes``: the service range of the server's options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.controlplane.bootstrap.ensure import DesiredObject, ensure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apiserver.server.loopback import Loopback


_CIDRS: Final = "/apis/networking.k8s.io/v1/servicecidrs"
_APPLY: Final = {"content-type": "application/apply-patch+yaml"}
_CIDR_MANAGER: Final = "kubernetes-service-cidr-controller"


async def bootstrap_service_cidr(client: Loopback, cidrs: Sequence[str], *, now: datetime) -> None:
    """Create the ServiceCIDR ``kubernetes`` of the server's ranges with condition Ready. Raises RuntimeError."""
    tree = {
        "kind": "ServiceCIDR",
        "apiVersion": "networking.k8s.io/v1",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": list(cidrs)},
    }
    await ensure(client, [DesiredObject(_CIDRS, tree)])
    answer = await client.request("GET", f"{_CIDRS}/kubernetes")
    body = answer.json()
    conditions = (body.get("status") or {}).get("conditions") or ()
    if answer.code != 200 or any(condition["type"] == "Ready" for condition in conditions):
        return
    ready = {
        "type": "Ready",
        "status": "True",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    status = {**tree, "status": {"conditions": [ready]}}
    del status["spec"]
    path = f"{_CIDRS}/kubernetes/status?fieldManager={_CIDR_MANAGER}&force=true"
    answer = await client.request("PATCH", path, body=msgspec.json.encode(status), headers=_APPLY)
    if answer.code != 200:
        raise RuntimeError(f"{path}: {answer.body.decode(errors='replace')}")
