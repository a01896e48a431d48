"""Each API server has a Lease in kube-system that says that it lives (KEP-1965); those of the dead are collected."""

from __future__ import annotations

import base64
import hashlib
import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.errors import is_already_exists, is_conflict, is_not_found
from steersman.apimachinery.timestamps import format_micro_time, parse_time
from steersman.client.errors import ApiError, ClientError
from steersman.client.resource_types import tree

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock
    from steersman.client import Client

    Tree = dict[str, Any]

LEASES: Final = tree("coordination.k8s.io/v1", "Lease")
NAMESPACE: Final = "kube-system"
IDENTITY_LABEL: Final = "apiserver.kubernetes.io/identity"
COMPONENT: Final = "kube-apiserver"
#: After so long a server counts as gone (``IdentityLeaseDurationSeconds``).
DURATION_SECONDS: Final = 3600
#: ``IdentityLeaseRenewIntervalPeriod``.
RENEW_SECONDS: Final = 10.0
#: ``IdentityLeaseGCPeriod``.
COLLECT_SECONDS: Final = 3600.0

_HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
_PEER_ADDRESS: Final = "kubernetes.io/peer-advertise-address"
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RETRY_SECONDS: Final = 1.0

_log: Final = logging.getLogger(__name__)


class Identity:
    """Who this server is."""

    def __init__(self, hostname: str, *, holder_suffix: str, peer_address: str = "") -> None:
        """``holder_suffix`` tells this run of the server from others; ``peer_address`` is host and port for its peers."""
        digest = base64.b32encode(hashlib.sha256(hostname.encode()).digest()[:16])
        #: Also the Lease's name.
        self.id: Final = "apiserver-" + digest.decode("ascii").rstrip("=").lower()
        self.holder: Final = f"{self.id}_{holder_suffix}"
        self._labels = {IDENTITY_LABEL: COMPONENT, _HOSTNAME_LABEL: hostname}
        self._annotations = {_PEER_ADDRESS: peer_address} if peer_address else {}

    def lease(self, *, now: datetime) -> Tree:
        """The Lease as it is made, and as it is put into the place of an earlier run's."""
        metadata: Tree = {"namespace": NAMESPACE, "name": self.id, "labels": dict(self._labels)}
        if self._annotations:
            metadata["annotations"] = dict(self._annotations)
        spec = {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": format_micro_time(now),
        }
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}

    def renewal(self, *, now: datetime) -> Tree:
        """A merge patch."""
        return {"spec": {"holderIdentity": self.holder, "renewTime": format_micro_time(now)}}


def is_expired(lease: Tree, *, now: datetime) -> bool:
    """Whether nobody has renewed it in time; also one that does not say."""
    spec = lease.get("spec") or {}
    renewed = parse_time(spec["renewTime"]) if spec.get("renewTime") else _LONG_AGO
    return renewed + timedelta(seconds=spec.get("leaseDurationSeconds") or 0) < now


async def take_identity(client: Client, identity: Identity, *, now: datetime) -> None:
    """Make the Lease, or take an earlier run's over. Raises ``ApiError``, ``ClientError``."""
    wanted = identity.lease(now=now)
    try:
        await client.create(wanted)
    except ApiError as error:
        if not is_already_exists(error):
            raise
        patch = {
            "metadata": {key: wanted["metadata"].get(key) for key in ("labels", "annotations")},
            "spec": wanted["spec"],
        }
        await client.patch(LEASES, identity.id, patch, namespace=NAMESPACE)


async def keep_identity(client: Client, identity: Identity, *, clock: Clock) -> None:
    """Renew the Lease until cancelled; make it again when somebody removed it."""
    wait = RENEW_SECONDS
    while True:
        await clock.sleep(wait)
        try:
            await client.patch(LEASES, identity.id, identity.renewal(now=clock.now()), namespace=NAMESPACE)
            wait = RENEW_SECONDS
        except ClientError as error:
            wait = _RETRY_SECONDS
            if is_not_found(error):
                await _take_again(client, identity, now=clock.now())
            else:
                _log.warning("cannot renew the Lease %s: %s", identity.id, error)


async def _take_again(client: Client, identity: Identity, *, now: datetime) -> None:
    try:
        await take_identity(client, identity, now=now)
    except ClientError as error:
        _log.warning("cannot make the Lease %s: %s", identity.id, error)


async def collect_identities(client: Client, *, now: datetime) -> None:
    """Remove the Leases of servers that are gone. Raises ``ApiError``, ``ClientError``."""
    for lease in await client.list(LEASES, namespace=NAMESPACE, label_selector={IDENTITY_LABEL: COMPONENT}):
        if not is_expired(lease, now=now):
            continue
        metadata = lease["metadata"]
        try:
            await client.delete_object(lease, uid=metadata["uid"], resource_version=metadata["resourceVersion"])
        except ApiError as error:
            if not (is_conflict(error) or is_not_found(error)):  # it lives after all
                raise
