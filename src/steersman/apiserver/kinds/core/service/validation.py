"""Validation and warnings of Services. Upstream: ``ValidateService``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.addresses import (
    check_cidr,
    check_cidr_loosely,
    check_ip,
    check_ip_loosely,
    parse_ip,
)
from steersman.apimachinery.metadata_validation import validate_labels
from steersman.apiserver.kinds.core.service.families import validate_cluster_ips, validate_cluster_ips_update
from steersman.apiserver.kinds.core.service.fields import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    LOAD_BALANCER,
    NODE_PORT,
    cluster_ips,
    is_externally_accessible,
    is_headless,
    may_have_node_ports,
    needs_health_check_port,
)
from steersman.apiserver.kinds.shared.address_warnings import cidr_warnings, ip_warnings
from steersman.apiserver.kinds.shared.endpoint_addresses import validate_endpoint_ip
from steersman.apiserver.kinds.shared.validation import (
    PROTOCOLS,
    check_all,
    check_one_of,
    check_supported,
    validate_port_number_or_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_PORTS: Final = _SPEC.child("ports")
_AFFINITY_SECONDS_MAX: Final = 86400
_ONLY_LOAD_BALANCER: Final = "may only be used when `type` is 'LoadBalancer'"
_NOT_EXTERNAL_NAME: Final = "may not be set for ExternalName services"
_SOURCE_RANGES_ANNOTATION: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_HINTS_ANNOTATION: Final = "service.kubernetes.io/topology-aware-hints"
_TOPOLOGY_ANNOTATION: Final = "service.kubernetes.io/topology-mode"


def validate_service(obj: Tree, old: Tree | None = None) -> list[FieldError]:
    """Validate a Service.

    Values unchanged from ``old`` are validated by the rules that applied when they were written.
    """
    spec = obj["spec"]
    before = old["spec"] if old is not None else None
    errors = [*_validate_topology_annotations(_validate_annotations(obj))]
    if not spec.get("ports") and not is_headless(spec) and spec.get("type") != EXTERNAL_NAME:
        errors.append(field.required(_PORTS))
    errors += _validate_by_type(spec)
    errors += _validate_ports(spec)
    errors += validate_labels(spec.get("selector") or {}, _SPEC.child("selector"))
    errors += _validate_affinity(spec)
    errors += validate_cluster_ips(spec, before)
    errors += _validate_external_ips(spec, before)
    errors += check_supported(
        spec.get("type"), (CLUSTER_IP, EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT), _SPEC.child("type")
    )
    errors += _validate_node_ports(spec, is_new=old is None)
    errors += _validate_unique_ports(spec)
    errors += _validate_source_ranges(obj, old)
    errors += _validate_load_balancer_fields(spec)
    errors += _validate_traffic_policies(spec)
    return errors


def validate_service_update(obj: Tree, old: Tree) -> list[FieldError]:
    """Validate an update of a Service."""
    spec, before = obj["spec"], old["spec"]
    errors = validate_cluster_ips_update(spec, before)
    both_balance = spec.get("type") == LOAD_BALANCER == before.get("type")
    if both_balance and spec.get("loadBalancerClass") != before.get("loadBalancerClass"):
        path = _SPEC.child("loadBalancerClass")
        errors.append(field.invalid(path, spec.get("loadBalancerClass"), "may not change once set"))
    errors += _validate_load_balancer_class(spec)  # repeated, as upstream reports its errors twice
    return errors + validate_service(obj, old)


def validate_service_status(obj: Tree) -> list[FieldError]:
    """Validate the load balancer status."""
    path = field.Path("status", "loadBalancer", "ingress")
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    if ingress and (obj.get("spec") or {}).get("type") != LOAD_BALANCER:
        return [field.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    errors: list[FieldError] = []
    for position, item in enumerate(ingress):
        errors += validate_load_balancer_ingress(item, path.index(position))
    return errors


def validate_load_balancer_ingress(item: Tree, path: Path) -> Iterator[FieldError]:
    """Validate an ingress point of a Service's or Ingress' load balancer status."""
    ip, hostname, mode = item.get("ip"), item.get("hostname"), item.get("ipMode")
    if ip:
        yield from check_all(path.child("ip"), ip, check_ip(ip))
    if mode is None:
        if ip and "ipMode" in item:
            yield field.required(path.child("ipMode"), "must be specified when `ip` is set")
    elif not ip:
        yield field.forbidden(path.child("ipMode"), "may not be specified when `ip` is not set")
    elif mode not in ("Proxy", "VIP"):
        yield field.not_supported(path.child("ipMode"), mode, ("Proxy", "VIP"))
    if hostname:
        yield from check_all(path.child("hostname"), hostname, names.check_dns1123_subdomain(hostname))
        if parse_ip(hostname) is not None:
            yield field.invalid(path.child("hostname"), hostname, "must be a DNS name, not an IP address")


def _validate_annotations(obj: Tree) -> Tree:
    return obj["metadata"].get("annotations") or {}


def _validate_topology_annotations(annotations: Tree) -> Iterator[FieldError]:
    hints, mode = annotations.get(_HINTS_ANNOTATION), annotations.get(_TOPOLOGY_ANNOTATION)
    if hints is not None and mode is not None and hints != mode:
        path = field.Path("metadata", "annotations").key(_TOPOLOGY_ANNOTATION)
        yield field.invalid(path, mode, f"must match annotations[{_HINTS_ANNOTATION}] when both are specified")


def _validate_by_type(spec: Tree) -> Iterator[FieldError]:
    kind = spec.get("type")
    if kind in (LOAD_BALANCER, NODE_PORT) and is_headless(spec):
        yield field.invalid(
            _SPEC.child("clusterIPs").index(0), spec["clusterIP"], f"may not be set to 'None' for {kind} services"
        )
    if kind == EXTERNAL_NAME:
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                yield field.forbidden(_SPEC.child(name), _NOT_EXTERNAL_NAME)
        host = (spec.get("externalName") or "").removesuffix(".")
        path = _SPEC.child("externalName")
        if not host:
            yield field.required(path)
        else:
            yield from check_all(path, host, names.check_dns1123_subdomain(host))


def _validate_ports(spec: Tree) -> Iterator[FieldError]:
    ports = spec.get("ports") or ()
    seen: set[str] = set()
    for position, port in enumerate(ports):
        path = _PORTS.index(position)
        name = port.get("name")
        if name:
            yield from check_all(path.child("name"), name, names.check_dns1123_label(name))
            if name in seen:
                yield field.duplicate(path.child("name"), name)
            seen.add(name)
        elif len(ports) > 1:
            yield field.required(path.child("name"))
        number = port.get("port", 0)
        yield from check_all(path.child("port"), number, names.check_port_number(number))
        yield from check_supported(port.get("protocol"), PROTOCOLS, path.child("protocol"))
        yield from validate_port_number_or_name(port.get("targetPort", 0), path.child("targetPort"))
        protocol = port.get("appProtocol")
        if protocol is not None:
            yield from check_all(path.child("appProtocol"), protocol, names.check_qualified_name(protocol))


def _validate_affinity(spec: Tree) -> Iterator[FieldError]:
    affinity, path = spec.get("sessionAffinity"), _SPEC.child("sessionAffinityConfig")
    yield from check_supported(affinity, ("ClientIP", "None"), _SPEC.child("sessionAffinity"))
    config: Any = spec.get("sessionAffinityConfig")
    if affinity == "None" and config is not None:
        yield field.forbidden(path, "must not be set when session affinity is None")
    if affinity != "ClientIP":
        return
    if config is None:
        yield field.required(path, "when session affinity type is ClientIP")
        return
    client_ip = config.get("clientIP")
    if client_ip is None:
        yield field.required(path.child("clientIP"), "when session affinity type is ClientIP")
    elif (seconds := client_ip.get("timeoutSeconds")) is None:
        detail = "when session affinity type is ClientIP"
        yield field.required(path.child("clientIP", "timeoutSeconds"), detail)
    elif not 0 < seconds <= _AFFINITY_SECONDS_MAX:
        detail = f"must be greater than 0 and less than {_AFFINITY_SECONDS_MAX}"
        yield field.invalid(path.child("clientIP", "timeoutSeconds"), seconds, detail)


def _validate_external_ips(spec: Tree, old: Tree | None) -> Iterator[FieldError]:
    before = set((old or {}).get("externalIPs") or ())
    for position, text in enumerate(spec.get("externalIPs") or ()):
        path = _SPEC.child("externalIPs").index(position)
        faults = check_ip_loosely(text) if text in before else check_ip(text)
        yield from check_all(path, text, faults)
        if not faults:
            yield from validate_endpoint_ip(text, path)


def _validate_node_ports(spec: Tree, *, is_new: bool) -> Iterator[FieldError]:
    """Validate node ports. For a new Service that allocates some, the allocator reports duplicates."""
    numbered = [
        (_PORTS.index(position).child("nodePort"), port.get("protocol", ""), port["nodePort"])
        for position, port in enumerate(spec.get("ports") or ())
        if port.get("nodePort")
    ]
    if spec.get("type") == CLUSTER_IP:
        for path, _, _ in numbered:
            yield field.forbidden(path, "may not be used when `type` is 'ClusterIP'")
    if is_new and may_have_node_ports(spec):
        return
    taken: set[tuple[str, int]] = set()
    for path, protocol, number in numbered:
        if (protocol, number) in taken:
            yield field.duplicate(path, number)
        taken.add((protocol, number))


def _validate_unique_ports(spec: Tree) -> Iterator[FieldError]:
    seen: set[tuple[str, int]] = set()
    for position, port in enumerate(spec.get("ports") or ()):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in seen:
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            yield field.duplicate(_PORTS.index(position), shown)
        seen.add(key)


def _validate_source_ranges(obj: Tree, old: Tree | None) -> Iterator[FieldError]:
    spec = obj["spec"]
    ranges = spec.get("loadBalancerSourceRanges")
    annotation = _validate_annotations(obj).get(_SOURCE_RANGES_ANNOTATION)
    if ranges:
        path = _SPEC.child("LoadBalancerSourceRanges")
        before = {text.strip() for text in ((old or {}).get("spec") or {}).get("loadBalancerSourceRanges") or ()}
        if spec.get("type") != LOAD_BALANCER:
            yield field.forbidden(path, _ONLY_LOAD_BALANCER)
        for position, text in enumerate(ranges):
            value = text.strip()
            faults = check_cidr_loosely(value) if value in before else check_cidr(value)
            yield from check_all(path.index(position), value, faults)
    elif annotation is not None:
        path = field.Path("metadata", "annotations").key(_SOURCE_RANGES_ANNOTATION)
        if spec.get("type") != LOAD_BALANCER:
            yield field.forbidden(path, _ONLY_LOAD_BALANCER)
        if old is not None and _validate_annotations(old).get(_SOURCE_RANGES_ANNOTATION) == annotation:
            return
        for text in annotation.split(",") if annotation.strip() else ():
            yield from check_all(path, text.strip(), check_cidr(text.strip()))


def _validate_load_balancer_fields(spec: Tree) -> Iterator[FieldError]:
    balances = spec.get("type") == LOAD_BALANCER
    path = _SPEC.child("allocateLoadBalancerNodePorts")
    allocates = spec.get("allocateLoadBalancerNodePorts")
    if allocates is not None and not balances:
        yield field.forbidden(path, _ONLY_LOAD_BALANCER)
    if allocates is None and balances:
        yield field.required(path)
    yield from _validate_load_balancer_class(spec)


def _validate_load_balancer_class(spec: Tree) -> Iterator[FieldError]:
    name, path = spec.get("loadBalancerClass"), _SPEC.child("loadBalancerClass")
    if name is None:
        return
    if spec.get("type") == LOAD_BALANCER:
        yield from check_all(path, name, names.check_qualified_name(name))
    else:
        yield field.forbidden(path, _ONLY_LOAD_BALANCER)


def _validate_traffic_policies(spec: Tree) -> Iterator[FieldError]:
    external = spec.get("externalTrafficPolicy")
    path = _SPEC.child("externalTrafficPolicy")
    if is_externally_accessible(spec):
        yield from check_supported(external, ("Cluster", "Local"), path)
    elif external:
        yield field.invalid(path, external, "may only be set for externally-accessible services")
    port = spec.get("healthCheckNodePort")
    if port:
        path = _SPEC.child("healthCheckNodePort")
        if needs_health_check_port(spec):
            yield from check_all(path, port, names.check_port_number(port))
        else:
            detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            yield field.invalid(path, port, detail)
    internal = spec.get("internalTrafficPolicy")
    path = _SPEC.child("internalTrafficPolicy")
    if internal is None and spec.get("type") in (CLUSTER_IP, NODE_PORT, LOAD_BALANCER):
        yield field.required(path)
    elif internal is not None:
        yield from check_one_of(internal, ("Cluster", "Local"), path)
    distribution = spec.get("trafficDistribution")
    if distribution is not None:
        supported = ("PreferClose", "PreferSameZone", "PreferSameNode")
        yield from check_one_of(distribution, supported, _SPEC.child("trafficDistribution"))


# -- warnings
# -----------------------------------------------------------------------------------------------------------


def service_warnings(obj: Tree) -> Sequence[str]:
    """Yield warnings about deprecated or ineffective fields of a Service."""
    if obj["metadata"].get("deletionTimestamp"):
        return ()
    return list(_warnings(obj, obj["spec"]))


def _warnings(obj: Tree, spec: Tree) -> Iterator[str]:
    headless, external = is_headless(spec), spec.get("externalIPs") or ()
    is_external_name = spec.get("type") == EXTERNAL_NAME
    if _HINTS_ANNOTATION in _validate_annotations(obj):
        yield f"annotation {_HINTS_ANNOTATION} is deprecated, please use {_TOPOLOGY_ANNOTATION} instead"
    for position, ip in enumerate(() if headless else cluster_ips(spec)):
        yield from ip_warnings(f"spec.clusterIPs[{position}]", ip)
    if headless:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if external:
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    for position, ip in enumerate(external):
        yield from ip_warnings(f"spec.externalIPs[{position}]", ip)
    if external and not headless and not is_external_name:
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if spec.get("loadBalancerIP"):
        yield from ip_warnings("spec.loadBalancerIP", spec["loadBalancerIP"])
    for position, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from cidr_warnings(f"spec.loadBalancerSourceRanges[{position}]", text.strip())
    if external and is_external_name:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("externalName") and not is_external_name:
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
