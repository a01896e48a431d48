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
    found: Tree | None, addresses: Iterable[str], ports: list[Tree], *, correct_ports: bool
) -> Tree | None:
    """Return the Endpoints with exactly these ``addresses``; None if up to date.

    ``correct_ports``: replace ports that another API server wrote (servers may listen on different ports, but share
    one list).
    """
    wanted = sorted(set(addresses))
    subset = _single_subset(found)
    subsets = []
    if wanted:
        keep = subset is not None and not correct_ports and _is_written_by_servers(found)
        own = {"addresses": [{"ip": ip} for ip in wanted], "ports": ports}
        subsets = [{**own, "ports": subset["ports"]} if keep and subset is not None and subset.get("ports") else own]
    return _changed(found, subsets)


def plan_master_count(
    found: Tree | None, own: str, ports: list[Tree], *, count: int, correct_ports: bool
) -> Tree | None:
    """Return the Endpoints with ``own``, without addresses beyond ``count`` after it. Upstream: ``master-count``.

    Stopped servers stay, so it suits a fixed set of servers only.
    """
    subset = _single_subset(found)
    if subset is None:
        return plan_endpoints(found, [own], ports, correct_ports=True)
    addresses = sorted({one["ip"] for one in subset.get("addresses") or ()} | {own})
    while len(addresses) > count:
        del addresses[(addresses.index(own) + 1) % len(addresses)]
    return plan_endpoints(found, addresses, ports, correct_ports=correct_ports)


def without_address(found: Tree | None, address: str) -> Tree | None:
    """Return the Endpoints without one address; None if it is not among them."""
    subset = _single_subset(found)
    listed = [one["ip"] for one in (subset or {}).get("addresses") or ()]
    if address not in listed:
        return None
    return plan_endpoints(found, [ip for ip in listed if ip != address], (subset or {})["ports"], correct_ports=False)


def plan_slice(found: Tree | None, endpoints: Tree) -> SlicePlan | None:
    """Return the slice with the content of ``endpoints``; None if up to date."""
    subset: Tree = next(iter(endpoints.get("subsets") or ()), {})
    addresses = [one["ip"] for one in subset.get("addresses") or ()]
    family = "IPv6" if addresses and all(":" in ip for ip in addresses) else "IPv4"
    wanted: Tree = {
        "addressType": family,
        "endpoints": [{"addresses": [ip], "conditions": {"ready": True}} for ip in addresses],
        "ports": [dict(port) for port in subset.get("ports") or ()],
    }
    if found is None or found.get("addressType") != family:
        return SlicePlan(_new_slice(wanted), replaces=found is not None)
    labels = found["metadata"].get("labels") or {}
    same = all((found.get(key) or []) == (value or []) for key, value in wanted.items())
    if same and labels.get(_SERVICE_NAME) == NAME:
        return None
    return SlicePlan({**found, **wanted, "metadata": {**found["metadata"], "labels": {**labels, _SERVICE_NAME: NAME}}})


def _new_slice(wanted: Tree) -> Tree:
    metadata = {"name": NAME, "namespace": NAMESPACE, "labels": {_SERVICE_NAME: NAME}}
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, **wanted}


def _changed(found: Tree | None, subsets: Sequence[Tree]) -> Tree | None:
    metadata = (found or {}).get("metadata") or {"name": NAME, "namespace": NAMESPACE}
    labels = metadata.get("labels") or {}
    # the servers write the slice themselves: it must not be mirrored
    if found is not None and (found.get("subsets") or []) == list(subsets) and labels.get(_SKIP_MIRROR) == "true":
        return None
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {**metadata, "labels": {**labels, _SKIP_MIRROR: "true"}},
        "subsets": list(subsets),
    }


def _single_subset(found: Tree | None) -> Tree | None:
    """Return the only subset of well-formed Endpoints."""
    subsets: list[Tree] = (found or {}).get("subsets") or []
    return subsets[0] if len(subsets) == 1 else None


def _is_written_by_servers(found: Tree | None) -> bool:
    entries = ((found or {}).get("metadata") or {}).get("managedFields") or ()
    owners = {entry.get("manager") for entry in entries if "f:subsets" in (entry.get("fieldsV1") or {})}
    return owners == {MANAGER}
