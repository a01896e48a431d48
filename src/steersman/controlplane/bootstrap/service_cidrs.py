"""Conditions and finalizers of ServiceCIDRs; one is deleted only when every address is in another range. Pure rules."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.addresses import IPNetwork, parse_cidr, parse_ip
from steersman.apimachinery.timestamps import format_time, parse_time
from steersman.apiserver.kinds.core.service.allocation import MANAGED_BY, MANAGED_BY_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.apimachinery.trees import Tree


#: ServiceCIDR of the servers' options, which they maintain.
DEFAULT_NAME: Final = "kubernetes"
FINALIZER: Final = "networking.k8s.io/service-cidr-finalizer"
#: Field manager of the conditions.
MANAGER: Final = "service-cidr-controller"
#: Delay of a further check after a deletion: an earlier allocation may still be written.
GRACE: Final = timedelta(seconds=1)

_READY: Final = "Kubernetes Service CIDR is ready"
_IN_USE: Final = (
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
)


class CIDRPlan(msgspec.Struct, frozen=True):
    """Writes for one ServiceCIDR."""

    add_finalizer: bool = False
    remove_finalizer: bool = False
    #: The condition ``Ready`` to apply.
    condition: dict[str, Any] | None = None
    #: Delay until the next check.
    again_seconds: float | None = None


def plan_service_cidr(cidr: Tree, cidrs: Sequence[Tree], addresses: Iterable[Tree], *, now: datetime) -> CIDRPlan:
    """Return the writes. ``cidrs`` and ``addresses``: all of the cluster."""
    metadata = cidr["metadata"]
    has_finalizer = FINALIZER in (metadata.get("finalizers") or ())
    if not metadata.get("deletionTimestamp"):
        # the default ServiceCIDR has no finalizer: it is recreated immediately
        return CIDRPlan(
            add_finalizer=not has_finalizer and metadata["name"] != DEFAULT_NAME,
            condition=None if metadata["name"] == DEFAULT_NAME else _condition(cidr, now, "True", "", _READY),
        )
    if not has_finalizer:
        return CIDRPlan()
    if is_needed(cidr, cidrs, addresses):
        return CIDRPlan(condition=_condition(cidr, now, "False", "Terminating", _IN_USE))
    remaining_seconds = (parse_time(metadata["deletionTimestamp"]) + GRACE - now).total_seconds()
    return CIDRPlan(again_seconds=remaining_seconds) if remaining_seconds > 0 else CIDRPlan(remove_finalizer=True)


def is_needed(cidr: Tree, cidrs: Iterable[Tree], addresses: Iterable[Tree]) -> bool:
    """Report whether an address in use is only in the range of this ServiceCIDR."""
    own = _networks(cidr)
    others = [
        network
        for other in cidrs
        if other["metadata"]["name"] != cidr["metadata"]["name"]
        for network in _networks(other)
    ]
    alone = [network for network in own if not any(_covers(other, network) for other in others)]
    if not alone:
        return False
    for address in addresses:
        if (address["metadata"].get("labels") or {}).get(MANAGED_BY_LABEL) != MANAGED_BY:
            continue
        ip = parse_ip(address["metadata"]["name"])
        if ip is not None and any(ip in network for network in own) and not any(ip in other for other in others):
            return True
    return False


def _networks(cidr: Tree) -> list[IPNetwork]:
    parsed = (parse_cidr(text) for text in (cidr.get("spec") or {}).get("cidrs") or ())
    return [network for network in parsed if network is not None]


def _covers(wide: IPNetwork, narrow: IPNetwork) -> bool:
    return wide.version == narrow.version and wide.prefixlen <= narrow.prefixlen and narrow.network_address in wide


def _condition(cidr: Tree, now: datetime, status: str, reason: str, message: str) -> Tree | None:
    """Return the condition to write; None if up to date."""
    conditions = (cidr.get("status") or {}).get("conditions") or ()
    condition: Tree = next((condition for condition in conditions if condition.get("type") == "Ready"), {})
    if (condition.get("status"), condition.get("reason")) == (status, reason):
        return None
    stamp = format_time(now)
    return {"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": stamp}
