"""The Service ``kubernetes`` in namespace ``default``: how clients inside the cluster reach its API servers."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable
    from ipaddress import IPv4Network, IPv6Network

    Tree = dict[str, Any]

NAME: Final = "kubernetes"
NAMESPACE: Final = "default"
PORT_NAME: Final = "https"
#: Who the API servers are in ``managedFields``.
MANAGER: Final = "kube-apiserver"

_LABELS: Final = {"component": "apiserver", "provider": "kubernetes"}


class ServiceWish(msgspec.Struct, frozen=True, kw_only=True):
    """What the Service should be like, as this server was started."""

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
    """What to write, and why."""

    tree: dict[str, Any]
    why: str
    #: What is found has to go first: its address cannot be changed.
    replaces: bool = False


def wanted_service(wish: ServiceWish) -> Tree:
    """The Service as it is made. It has no selector: its endpoints are the API servers' own business."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": dict(_LABELS)},
        "spec": {
            "ports": wish.ports,
            "clusterIP": wish.ip,
            "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None",
            "type": wish.type,
        },
    }


def plan_service(
    found: Tree | None, wish: ServiceWish, *, ranges: Iterable[IPv4Network | IPv6Network], at_start: bool
) -> Correction | None:
    """What to write so that the Service is as wished; None: it is.

    ``ranges`` are those that addresses come from. At its start a server puts ports and type right, as upstream's does.
    Later only what others changed is put right: two servers that were started differently would correct each other for
    ever.
    """
    if found is None:
        return Correction(wanted_service(wish), "it is missing")
    spec = found.get("spec") or {}
    ip = spec.get("clusterIP") or ""
    if ip and ip != wish.ip and (ip == "None" or _is_within(ip, ranges)):
        return Correction(wanted_service(wish), f"its address is {ip}, not {wish.ip}", replaces=True)
    mended, reasons = dict(spec), []
    is_ours = not at_start and _is_as_a_server_wrote_it(found)
    if not is_ours and (spec.get("type") != wish.type or not _same_ports(spec.get("ports"), wish.ports)):
        mended |= {"type": wish.type, "ports": wish.ports}
        reasons.append("ports or type are wrong")
    if not ip:
        mended |= {"clusterIP": wish.ip, "clusterIPs": [wish.ip]}
        mended.pop("externalName", None)
        reasons.append("it has no address")
    if spec.get("selector"):
        mended.pop("selector")
        reasons.append("it has a selector")
    labels = found["metadata"].get("labels") or {}
    if not labels.items() >= _LABELS.items():
        reasons.append("it lacks labels")
    if not reasons:
        return None
    metadata = {**found["metadata"], "labels": {**labels, **_LABELS}}
    return Correction({**found, "metadata": metadata, "spec": mended}, "; ".join(reasons))


def _is_within(text: str, ranges: Iterable[IPv4Network | IPv6Network]) -> bool:
    """An address outside all ranges is of an earlier range: it stays, or all who know it would lose the servers."""
    return any(ip_address(text) in network for network in ranges)


def _same_ports(found: list[Tree] | None, wanted: list[Tree]) -> bool:
    return [{key: port[key] for key in port if port[key]} for port in found or ()] == wanted


def _is_as_a_server_wrote_it(found: Tree) -> bool:
    """Whether nobody but API servers has a say in ports and type."""
    entries = found["metadata"].get("managedFields") or ()
    specs = {entry.get("manager"): (entry.get("fieldsV1") or {}).get("f:spec") or {} for entry in entries}
    owners = {manager for manager, fields in specs.items() if not fields.keys().isdisjoint(("f:ports", "f:type"))}
    return owners == {MANAGER}
