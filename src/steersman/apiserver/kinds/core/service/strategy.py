"""Strategy of Services: defaults, hooks and Table columns.

``allocation.py`` allocates addresses and ports, ``fields.py`` and ``families.py`` default dependent fields,
``validation.py`` validates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import names
from steersman.apimachinery.errors import invalid
from steersman.apiserver.generic.columns import AGE_COLUMN, NAME_COLUMN, NONE, UNKNOWN, age, labels_text, name_of
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.core.service import validation
from steersman.apiserver.kinds.core.service.families import fill_in_families
from steersman.apiserver.kinds.core.service.fields import (
    CLUSTER_IP,
    LOAD_BALANCER,
    NODE_PORT,
    carry_over_allocated,
    drop_unneeded,
    is_externally_accessible,
    normalize_cluster_ips,
    trim_to_single_stack,
)
from steersman.apiserver.kinds.shared.address_warnings import ip_warnings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.core.service.allocation import ServiceAllocator
    from steersman.apiserver.request import RequestContext
    from steersman.storage.store import Op

_AFFINITY_SECONDS: Final = 10800


class ServiceStrategy(Strategy):
    """Strategy of Services. Its transactions include the keys of allocated addresses and node ports."""

    group_resource = "services"
    metadata_checks_on_update = (1, 1)
    allow_create_on_update = True
    returns_deleted_object = True
    field_labels: ClassVar = {
        "spec.clusterIP": lambda obj: (obj.get("spec") or {}).get("clusterIP", ""),
        "spec.type": lambda obj: (obj.get("spec") or {}).get("type", ""),
    }
    columns = (
        NAME_COLUMN,
        Column("Type", field="core.v1.ServiceSpec.type"),
        Column("Cluster-IP", field="core.v1.ServiceSpec.clusterIP"),
        Column("External-IP", field="core.v1.ServiceSpec.externalIPs"),
        Column("Port(s)", field="core.v1.ServiceSpec.ports"),
        AGE_COLUMN,
        Column("Selector", priority=1, field="core.v1.ServiceSpec.selector"),
    )

    def __init__(self, allocator: ServiceAllocator) -> None:
        self._allocator = allocator

    def default(self, obj: Tree, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("type"):
            spec["type"] = CLUSTER_IP
        _default_affinity(spec)
        for port in spec.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"
            if not port.get("targetPort"):
                port["targetPort"] = port.get("port", 0)
        if is_externally_accessible(spec) and not spec.get("externalTrafficPolicy"):
            spec["externalTrafficPolicy"] = "Cluster"
        if spec.get("internalTrafficPolicy") is None and spec["type"] in (CLUSTER_IP, NODE_PORT, LOAD_BALANCER):
            spec["internalTrafficPolicy"] = "Cluster"
        if spec["type"] == LOAD_BALANCER:
            if spec.get("allocateLoadBalancerNodePorts") is None:
                spec["allocateLoadBalancerNodePorts"] = True
            for ingress in _ingress(obj):
                if ingress.get("ip") and ingress.get("ipMode") is None:
                    ingress["ipMode"] = "VIP"

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        obj["status"] = {"loadBalancer": {}}
        spec = obj["spec"]
        normalize_cluster_ips(spec, None)
        self._fill_in_families(obj, None)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        spec, before = obj["spec"], old["spec"]
        obj["status"] = old.get("status") or {"loadBalancer": {}}
        carry_over_allocated(spec, before)
        normalize_cluster_ips(spec, before)
        self._fill_in_families(obj, before)
        drop_unneeded(spec, before)
        trim_to_single_stack(spec, before)
        if spec.get("type") != LOAD_BALANCER and _ingress(obj):
            obj["status"] = {**obj["status"], "loadBalancer": {}}

    def _fill_in_families(self, obj: Tree, old_spec: Tree | None) -> None:
        errors = fill_in_families(obj["spec"], old_spec, self._allocator.families)
        if errors:
            raise invalid("Service", obj["metadata"].get("name", ""), errors)

    def name_errors(self, name: str, *, prefix: bool = False) -> Sequence[str]:
        return names.name_is_dns_label(name, prefix=prefix)

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return validation.validate_service(obj)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validation.validate_service_update(obj, old)

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return validation.validate_service_status(obj)

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        return validation.service_warnings(obj)

    def status_warnings(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[str]:
        return [
            warning
            for position, ingress in enumerate(_ingress(obj))
            for warning in ip_warnings(f"status.loadBalancer.ingress[{position}]", ingress.get("ip") or "")
        ]

    async def check_allocations(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> None:
        if old is None:
            await self._allocator.check_create(ctx, obj)
        else:
            await self._allocator.check_ports_of_update(ctx, obj, old)

    async def extra_ops_on_create(self, ctx: RequestContext, obj: Tree) -> Sequence[Op]:
        return await self._allocator.for_create(ctx, obj)

    async def extra_ops_on_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[Op]:
        return await self._allocator.for_update(ctx, obj, old)

    async def extra_ops_on_delete(self, ctx: RequestContext, obj: Tree) -> Sequence[Op]:
        return await self._allocator.for_delete(obj)

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        ips = spec.get("clusterIPs")
        return [
            name_of(obj),
            spec.get("type", ""),
            ips[0] if ips else NONE,
            _external_ip_text(obj),
            ",".join(_port_text(port) for port in spec.get("ports") or ()) or NONE,
            age(obj, now),
            labels_text(spec.get("selector")),
        ]


def _default_affinity(spec: Tree) -> None:
    """Drop ``sessionAffinityConfig`` without ClientIP affinity; default its timeout with it."""
    affinity = spec.get("sessionAffinity")
    if not affinity:
        affinity = spec["sessionAffinity"] = "None"
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client_ip = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client_ip.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _ingress(obj: Tree) -> Sequence[Tree]:
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    return balancer.get("ingress") or ()


def _external_ip_text(obj: Tree) -> str:
    spec = obj.get("spec") or {}
    external = list(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            balanced = {ingress.get("ip") or ingress.get("hostname") or "" for ingress in _ingress(obj)} - {""}
            return ",".join([*sorted(balanced), *external]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
    return UNKNOWN


def _port_text(port: Tree) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', '')}"
