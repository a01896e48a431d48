"""API server identity (KEP-1965): the Lease of each API server in kube-system, its renewal, and the removal of expired ones.

Upstream: ``pkg/controlplane/apiserver/server.go``, ``k8s.io/apiserver/pkg/server/config.go`` (``NewConfig``).
"""

from __future__ import annotations

import base64
import hashlib
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import add_seconds, parse_time
from steersman.client.errors import Conflict, NotFound
from steersman.client.resource_types import tree
from steersman.runtime.heartbeat import LeaseHeartbeat

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock
    from steersman.client import Client
    from steersman.runtime.heartbeat import HeartbeatMetrics


LEASES: Final = tree("coordination.k8s.io/v1", "Lease")
NAMESPACE: Final = "kube-system"
IDENTITY_LABEL: Final = "apiserver.kubernetes.io/identity"
COMPONENT: Final = "kube-apiserver"
#: Validity of a Lease (``IdentityLeaseDurationSeconds``).
DURATION_SECONDS: Final = 3600
#: ``IdentityLeaseRenewIntervalPeriod``.
RENEW_SECONDS: Final = 10.0
#: ``IdentityLeaseGCPeriod``.
COLLECT_SECONDS: Final = 3600.0

_HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
_PEER_ADDRESS: Final = "kubernetes.io/peer-advertise-address"
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


def server_id(hostname: str) -> str:
    """Return the ID of the kube-apiserver on a host, which is also the name of its Lease.

    It is the base32 text of the first half of a SHA-256 hash over hostname and component, each with its length as two
    bytes before it, so that an aggregated API server on the same host has another ID.
    """
    parts = (text.encode() for text in (hostname, COMPONENT))
    digest = hashlib.sha256(b"".join(len(part).to_bytes(2, "big") + part for part in parts)).digest()
    return "apiserver-" + base64.b32encode(digest[:16]).decode("ascii").rstrip("=").lower()


class Identity:
    """Identity of one run of an API server."""

    def __init__(self, hostname: str, *, holder_suffix: str, peer_address: Callable[[], str] = str) -> None:
        """``holder_suffix`` is unique to this run of the server; ``peer_address`` returns host and port for its peers."""
        self.id: Final = server_id(hostname)
        self.holder: Final = f"{self.id}_{holder_suffix}"
        self._labels = {IDENTITY_LABEL: COMPONENT, _HOSTNAME_LABEL: hostname}
        self._peer_address = peer_address

    def process_lease(self, lease: Tree) -> None:
        """Set labels, the peer address and the holder, also of a Lease of an earlier run (``labelAPIServerHeartbeatFunc``)."""
        metadata = lease["metadata"]
        metadata["labels"] = {**(metadata.get("labels") or {}), **self._labels}
        annotations, peer_address = dict(metadata.get("annotations") or {}), self._peer_address()
        if peer_address:
            annotations[_PEER_ADDRESS] = peer_address
        else:
            annotations.pop(_PEER_ADDRESS, None)
        metadata["annotations"] = annotations
        lease["spec"].update(holderIdentity=self.holder, leaseDurationSeconds=DURATION_SECONDS)


def is_expired(lease: Tree, *, now: datetime) -> bool:
    """Report whether a Lease was not renewed in time; one without a time counts as expired."""
    spec = lease.get("spec") or {}
    renewed = parse_time(spec["renewTime"]) if spec.get("renewTime") else _LONG_AGO
    return add_seconds(renewed, spec.get("leaseDurationSeconds") or 0) < now


def identity_heartbeat(
    client: Client,
    identity: Identity,
    *,
    clock: Clock,
    dice: Random | None = None,
    metrics: HeartbeatMetrics | None = None,
    renew_seconds: float = RENEW_SECONDS,
) -> LeaseHeartbeat:
    """Return the heartbeat that creates, takes over and renews the Lease of the server."""
    return LeaseHeartbeat(
        client,
        holder_identity=identity.holder,
        lease_name=identity.id,
        namespace=NAMESPACE,
        lease_duration_seconds=DURATION_SECONDS,
        renew_interval_seconds=renew_seconds,
        process_lease=identity.process_lease,
        metrics=metrics,
        clock=clock,
        dice=dice,
    )


async def take_identity(client: Client, identity: Identity, *, clock: Clock) -> None:
    """Create or take over the Lease in one attempt, before the server is ready. Raises ``ClientError``."""
    await identity_heartbeat(client, identity, clock=clock).renew_once()


async def collect_identities(client: Client, *, now: datetime) -> None:
    """Delete expired Leases. Raises ``ApiError``, ``ClientError``."""
    for lease in await client.list(LEASES, namespace=NAMESPACE, label_selector={IDENTITY_LABEL: COMPONENT}):
        if not is_expired(lease, now=now):
            continue
        metadata = lease["metadata"]
        with suppress(Conflict, NotFound):  # Conflict: its server renewed it meanwhile
            await client.delete_object(lease, uid=metadata["uid"], resource_version=metadata["resourceVersion"])
