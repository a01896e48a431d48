"""Endpoints and EndpointSlice ``kubernetes``: addresses of live API servers. Pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.controlplane.bootstrap.kubernetes_service import MANAGER, NAME, NAMESPACE, PORT_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.apimachinery.trees import Tree


_SKIP_MIRROR: Final = "endpointslice.kubernetes.io/skip-mirror"
_SERVICE_NAME: Final = "kubernetes.io/service-name"


class SlicePlan(msgspec.Struct, frozen=True):
    """Slice to write; ``replaces``: the existing one is deleted first, as its address family is immutable."""

    tree: dict[str, Any]
    replaces: bool = False


def endpoint_ports(port: int) -> list[Tree]:
    """Return the port of the servers."""
    return [{"name": PORT_NAME, "port": port, "protocol": "TCP"}]


def plan_endpoints(
    existing: Tree | None, addresses: Iterable[str], ports: list[Tree], *, correct_ports: bool
) -> Tree | None:
    """Return the Endpoints with exactly these ``addresses``; None if up to date.

    ``correct_ports``: replace ports that another API server wrote (servers may listen on different ports, but share
    one list).
    """
    desired = sorted(set(addresses))
    subset = _single_subset(existing)
    subsets = []
    if desired:
        keep = subset is not None and not correct_ports and _is_written_by_servers(existing)
        own = {"addresses": [{"ip": ip} for ip in desired], "ports": ports}
        subsets = [{**own, "ports": subset["ports"]} if keep and subset is not None and subset.get("ports") else own]
    return _changed(existing, subsets)


def plan_master_count(
    existing: Tree | None, own: str, ports: list[Tree], *, count: int, correct_ports: bool
) -> Tree | None:
    """Return the Endpoints with ``own``, without addresses beyond ``count`` after it. Upstream: ``master-count``.

    Stopped servers stay, so it suits a fixed set of servers only.
    """
    subset = _single_subset(existing)
    if subset is None:
        return plan_endpoints(existing, [own], ports, correct_ports=True)
    addresses = sorted({address["ip"] for address in subset.get("addresses") or ()} | {own})
    while len(addresses) > count:
        del addresses[(addresses.index(own) + 1) % len(addresses)]
    return plan_endpoints(existing, addresses, ports, correct_ports=correct_ports)


def without_address(existing: Tree | None, address: str) -> Tree | None:
    """Return the Endpoints without one address; None if it is not among them."""
    subset = _single_subset(existing)
    listed = [address["ip"] for address in (subset or {}).get("addresses") or ()]
    if address not in listed:
        return None
    return plan_endpoints(
        existing, [ip for ip in listed if ip != address], (subset or {})["ports"], correct_ports=False
    )


def plan_slice(existing: Tree | None, endpoints: Tree) -> SlicePlan | None:
    """Return the slice with the content of ``endpoints``; None if up to date."""
    subset: Tree = next(iter(endpoints.get("subsets") or ()), {})
    addresses = [address["ip"] for address in subset.get("addresses") or ()]
    family = "IPv6" if addresses and all(":" in ip for ip in addresses) else "IPv4"
    desired: Tree = {
        "addressType": family,
        "endpoints": [{"addresses": [ip], "conditions": {"ready": True}} for ip in addresses],
        "ports": [dict(port) for port in subset.get("ports") or ()],
    }
    if existing is None or existing.get("addressType") != family:
        return SlicePlan(_new_slice(desired), replaces=existing is not None)
    labels = existing["metadata"].get("labels") or {}
    same = all((existing.get(key) or []) == (value or []) for key, value in desired.items())
    if same and labels.get(_SERVICE_NAME) == NAME:
        return None
    return SlicePlan(
        {**existing, **desired, "metadata": {**existing["metadata"], "labels": {**labels, _SERVICE_NAME: NAME}}}
    )


def _new_slice(desired: Tree) -> Tree:
    metadata = {"name": NAME, "namespace": NAMESPACE, "labels": {_SERVICE_NAME: NAME}}
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, **desired}


def _changed(existing: Tree | None, subsets: Sequence[Tree]) -> Tree | None:
    metadata = (existing or {}).get("metadata") or {"name": NAME, "namespace": NAMESPACE}
    labels = metadata.get("labels") or {}
    # the servers write the slice themselves: it must not be mirrored
    if existing is not None and (existing.get("subsets") or []) == list(subsets) and labels.get(_SKIP_MIRROR) == "true":
        return None
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {**metadata, "labels": {**labels, _SKIP_MIRROR: "true"}},
        "subsets": list(subsets),
    }


def _single_subset(existing: Tree | None) -> Tree | None:
    """Return the only subset of well-formed Endpoints."""
    subsets: list[Tree] = (existing or {}).get("subsets") or []
    return subsets[0] if len(subsets) == 1 else None


def _is_written_by_servers(existing: Tree | None) -> bool:
    entries = ((existing or {}).get("metadata") or {}).get("managedFields") or ()
    owners = {entry.get("manager") for entry in entries if "f:subsets" in (entry.get("fieldsV1") or {})}
    return owners == {MANAGER}
