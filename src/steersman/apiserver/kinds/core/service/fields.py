"""Fields of Services by type: predicates, and what an update carries over or drops.

Order of an update, as upstream: carry over allocated values that the client omits, synchronize ``clusterIP`` with
``clusterIPs``, default the families, then drop fields that the new type does not use, unless the client changed them
(validation rejects those).
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
    """Report whether the type has a cluster IP (``None`` counts as one)."""
    return spec.get("type") != EXTERNAL_NAME


def may_have_node_ports(spec: Tree) -> bool:
    """Report whether ports may have node ports, allocated or requested."""
    return spec.get("type") in (NODE_PORT, LOAD_BALANCER)


def needs_node_ports(spec: Tree) -> bool:
    """Report whether every port gets a node port."""
    kind = spec.get("type")
    return kind == NODE_PORT or (kind == LOAD_BALANCER and spec.get("allocateLoadBalancerNodePorts") is not False)


def needs_health_check_port(spec: Tree) -> bool:
    """Report whether the Service needs ``healthCheckNodePort``."""
    return spec.get("type") == LOAD_BALANCER and spec.get("externalTrafficPolicy") == "Local"


def is_externally_accessible(spec: Tree) -> bool:
    """Report whether the Service is reachable from outside of the cluster."""
    kind = spec.get("type")
    return kind in (LOAD_BALANCER, NODE_PORT) or (kind == CLUSTER_IP and bool(spec.get("externalIPs")))


def is_headless(spec: Tree) -> bool:
    """Report whether the Service is headless."""
    return spec.get("clusterIP") == HEADLESS


def cluster_ips(spec: Tree) -> list[str]:
    """Return the cluster IPs, an empty list without any."""
    return list(spec.get("clusterIPs") or ())


def node_ports(spec: Tree) -> set[int]:
    """Return the distinct node ports (TCP and UDP may share one)."""
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


# -- create and update ------------------------------------------------------------------------------------------------


def normalize_cluster_ips(spec: Tree, old: Tree | None) -> None:
    """Synchronize ``clusterIP`` and ``clusterIPs`` for clients that know only the singular.

    Upstream: ``NormalizeClusterIPs``.
    """
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
    """Carry over allocated values that an update omits. Upstream: ``patchAllocatedValues``."""
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
    """Carry over node ports by port name, unless another port requests the same one."""
    used = node_ports(old) & node_ports(spec)
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in old.get("ports") or ()}
    for port in spec.get("ports") or ():
        before = by_name.get(port.get("name", ""), 0)
        if not port.get("nodePort") and before and before not in used:
            port["nodePort"] = before
            used.add(before)


def drop_unneeded(spec: Tree, old: Tree) -> None:
    """Drop fields that the new type does not use, unless the client changed them.

    Upstream: ``dropTypeDependentFields``.
    """
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
    """Drop the second address and family when the policy changes to SingleStack.

    Upstream: ``trimFieldsForDualStackDowngrade``.
    """
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
