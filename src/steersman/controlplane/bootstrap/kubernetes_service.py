"""Service ``kubernetes`` in namespace ``default``, by which clients in the cluster reach the API servers."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable
    from ipaddress import IPv4Network, IPv6Network

    from steersman.apimachinery.trees import Tree


NAME: Final = "kubernetes"
NAMESPACE: Final = "default"
PORT_NAME: Final = "https"
#: Field manager of API servers.
MANAGER: Final = "kube-apiserver"

_LABELS: Final = {"component": "apiserver", "provider": "kubernetes"}


class DesiredService(msgspec.Struct, frozen=True, kw_only=True):
    """Properties of the Service by the options of one server."""

    #: The first address of the service range.
    ip: str
    #: The server's own port.
    target_port: int
    port: int = 443
    #: 0: the Service is a ClusterIP; otherwise a NodePort.
    node_port: int = 0

    @property
    def type(self) -> str:
        return "NodePort" if self.node_port else "ClusterIP"

    @property
    def ports(self) -> list[Tree]:
        port: Tree = {"name": PORT_NAME, "protocol": "TCP", "port": self.port, "targetPort": self.target_port}
        return [{**port, "nodePort": self.node_port} if self.node_port else port]


class Correction(msgspec.Struct, frozen=True):
    """A write of the Service, and the reason for it."""

    tree: dict[str, Any]
    reason: str
    #: True to delete the stored Service first: its address cannot be changed.
    replaces: bool = False


def build_service(desired: DesiredService) -> Tree:
    """Return the Service to create. It has no selector: API servers write its endpoints themselves."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": dict(_LABELS)},
        "spec": {
            "ports": desired.ports,
            "clusterIP": desired.ip,
            "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None",
            "type": desired.type,
        },
    }


def plan_service(
    existing: Tree | None, desired: DesiredService, *, ranges: Iterable[IPv4Network | IPv6Network], at_start: bool
) -> Correction | None:
    """Return the write that makes the Service as desired; None if it already is.

    ``ranges`` are the networks of service addresses. At start a server corrects ports and type, as upstream. Later
    it corrects them only if another client changed them: two servers with different options would otherwise correct
    each other forever.
    """
    if existing is None:
        return Correction(build_service(desired), "it is missing")
    spec = existing.get("spec") or {}
    ip = spec.get("clusterIP") or ""
    if ip and ip != desired.ip and (ip == "None" or _is_within(ip, ranges)):
        return Correction(build_service(desired), f"its address is {ip}, not {desired.ip}", replaces=True)
    repaired, reasons = dict(spec), []
    is_ours = not at_start and _is_as_a_server_wrote_it(existing)
    if not is_ours and (spec.get("type") != desired.type or not _same_ports(spec.get("ports"), desired.ports)):
        repaired |= {"type": desired.type, "ports": desired.ports}
        reasons.append("ports or type are wrong")
    if not ip:
        repaired |= {"clusterIP": desired.ip, "clusterIPs": [desired.ip]}
        repaired.pop("externalName", None)
        reasons.append("it has no address")
    if spec.get("selector"):
        repaired.pop("selector")
        reasons.append("it has a selector")
    labels = existing["metadata"].get("labels") or {}
    if not labels.items() >= _LABELS.items():
        reasons.append("it lacks labels")
    if not reasons:
        return None
    metadata = {**existing["metadata"], "labels": {**labels, **_LABELS}}
    return Correction({**existing, "metadata": metadata, "spec": repaired}, "; ".join(reasons))


def _is_within(text: str, ranges: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Report whether an address is in a range. One outside is of an earlier range and stays, as clients use it."""
    return any(ip_address(text) in network for network in ranges)


def _same_ports(existing: list[Tree] | None, desired: list[Tree]) -> bool:
    return [{key: port[key] for key in port if port[key]} for port in existing or ()] == desired


def _is_as_a_server_wrote_it(existing: Tree) -> bool:
    """Report whether API servers are the only field managers of ports and type."""
    entries = existing["metadata"].get("managedFields") or ()
    specs = {entry.get("manager"): (entry.get("fieldsV1") or {}).get("f:spec") or {} for entry in entries}
    owners = {manager for manager, fields in specs.items() if not fields.keys().isdisjoint(("f:ports", "f:type"))}
    return owners == {MANAGER}
