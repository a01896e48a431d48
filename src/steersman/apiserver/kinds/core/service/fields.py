"""What the fields of a Service mean for each other: which types need what, and what an update carries over.

Order of an update, as upstream: what was allocated is carried over where the client left it out, the singular and the
plural of the cluster IP are brought together, the families are filled in; then what the new type has no use for is
dropped, unless the client changed it in the same breath (validation tells them then).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

CLUSTER_IP: Final = "ClusterIP"
NODE_PORT: Final = "NodePort"
LOAD_BALANCER: Final = "LoadBalancer"
EXTERNAL_NAME: Final = "ExternalName"
HEADLESS: Final = "None"

SINGLE_STACK: Final = "SingleStack"
PREFER_DUAL_STACK: Final = "PreferDualStack"
REQUIRE_DUAL_STACK: Final = "RequireDualStack"


def needs_cluster_ip(spec: Tree) -> bool:
    """Whether the type has a cluster IP (``None`` counts as one)."""
    return spec.get("type") != EXTERNAL_NAME


def may_have_node_ports(spec: Tree) -> bool:
    """Whether ports may have a port on the nodes, be it that they get one or that the client asks for it."""
    return spec.get("type") in (NODE_PORT, LOAD_BALANCER)


def needs_node_ports(spec: Tree) -> bool:
    """Whether every port gets a port on the nodes."""
    kind = spec.get("type")
    return kind == NODE_PORT or (kind == LOAD_BALANCER and spec.get("allocateLoadBalancerNodePorts") is not False)


def needs_health_check_port(spec: Tree) -> bool:
    """Whether load balancers must be told which nodes have endpoints."""
    return spec.get("type") == LOAD_BALANCER and spec.get("externalTrafficPolicy") == "Local"


def is_externally_accessible(spec: Tree) -> bool:
    """Whether traffic may come from outside of the cluster."""
    kind = spec.get("type")
    return kind in (LOAD_BALANCER, NODE_PORT) or (kind == CLUSTER_IP and bool(spec.get("externalIPs")))


def is_headless(spec: Tree) -> bool:
    """Whether the service has no address on purpose."""
    return spec.get("clusterIP") == HEADLESS


def cluster_ips(spec: Tree) -> list[str]:
    """The cluster IPs, an empty list without any."""
    return list(spec.get("clusterIPs") or ())


def node_ports(spec: Tree) -> set[int]:
    """All ports on the nodes that the ports have, each once (TCP and UDP may share one)."""
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


# -- create and update ------------------------------------------------------------------------------------------------


def normalize_cluster_ips(spec: Tree, old: Tree | None) -> None:
    """Bring ``clusterIP`` and ``clusterIPs`` together for clients that know the singular only."""
    single = spec.get("clusterIP") or ""
    if old is None:
        if single and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [single]
        return
    before = old.get("clusterIP") or ""
    if old.get("clusterIPs") and not spec.get("clusterIPs") and single == before:
        spec["clusterIPs"] = list(old["clusterIPs"])
    if single != before and cluster_ips(old) == cluster_ips(spec):
        if before and not single:
            spec.pop("clusterIPs", None)
        else:
            spec["clusterIPs"] = [single]


def carry_over_allocated(spec: Tree, old: Tree) -> None:
    """Give an update what was allocated before and what it does not mention."""
    if needs_cluster_ip(old) and needs_cluster_ip(spec):
        if not spec.get("clusterIP") and old.get("clusterIP"):
            spec["clusterIP"] = old["clusterIP"]
        if not spec.get("clusterIPs") and spec.get("clusterIP") == old.get("clusterIP") and old.get("clusterIPs"):
            spec["clusterIPs"] = list(old["clusterIPs"])
    if needs_node_ports(old) and needs_node_ports(spec):
        _carry_over_node_ports(spec, old)
    if needs_health_check_port(old) and needs_health_check_port(spec) and not spec.get("healthCheckNodePort"):
        _set_or_drop(spec, "healthCheckNodePort", old.get("healthCheckNodePort"))


def _carry_over_node_ports(spec: Tree, old: Tree) -> None:
    """Ports keep their node ports by name, unless another port now asks for that one."""
    used = node_ports(old) & node_ports(spec)
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in old.get("ports") or ()}
    for port in spec.get("ports") or ():
        before = by_name.get(port.get("name", ""), 0)
        if not port.get("nodePort") and before and before not in used:
            port["nodePort"] = before
            used.add(before)


def drop_unneeded(spec: Tree, old: Tree) -> None:
    """Drop what the new type has no use for, where the client left it as it was."""
    if needs_cluster_ip(old) and not needs_cluster_ip(spec):
        if cluster_ips(old) == cluster_ips(spec):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        for name in ("ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            _drop_if_same(spec, old, name)
    if may_have_node_ports(old) and not may_have_node_ports(spec) and node_ports(spec) <= node_ports(old):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check_port(old) and not needs_health_check_port(spec):
        _drop_if_same(spec, old, "healthCheckNodePort")
    if old.get("type") == LOAD_BALANCER != spec.get("type"):
        _drop_if_same(spec, old, "allocateLoadBalancerNodePorts")
        _drop_if_same(spec, old, "loadBalancerClass")
    if is_externally_accessible(old) and not is_externally_accessible(spec):
        _drop_if_same(spec, old, "externalTrafficPolicy")


def trim_to_single_stack(spec: Tree, old: Tree) -> None:
    """Asking for one family instead of two gives up the second."""
    if (
        old.get("ipFamilyPolicy") in (PREFER_DUAL_STACK, REQUIRE_DUAL_STACK)
        and spec.get("ipFamilyPolicy") == SINGLE_STACK
    ):
        for name in ("clusterIPs", "ipFamilies"):
            if len(spec.get(name) or ()) > 1:
                spec[name] = spec[name][:1]


def _drop_if_same(spec: Tree, old: Tree, name: str) -> None:
    if spec.get(name) == old.get(name):
        spec.pop(name, None)


def _set_or_drop(spec: Tree, name: str, value: Any) -> None:
    if value:
        spec[name] = value
    else:
        spec.pop(name, None)
