"""Validation of Ingresses. Upstream: ``ValidateIngressCreate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.addresses import check_ip, check_ip_loosely, parse_ip
from steersman.apiserver.kinds.networking.shared.references import validate_local_reference
from steersman.apiserver.kinds.shared.validation import check_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

#: Deprecated annotation of the class.
CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"

_SPEC: Final = field.Path("spec")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_IN_PATHS: Final = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS: Final = ("/..", "/.")
_NOT_AN_IP: Final = "must be a DNS name, not an IP address"


def validate_ingress(obj: Tree) -> Iterator[FieldError]:
    """Validate a new Ingress."""
    spec = obj.get("spec") or {}
    yield from _validate_spec(spec, check_secrets=True)
    class_annotation = (obj["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    name = spec.get("ingressClassName")
    if class_annotation is not None and name is not None and class_annotation != name:
        path = field.Path("annotations").child(CLASS_ANNOTATION)
        yield field.invalid(path, class_annotation, "must match `ingressClassName` when both are specified")


def validate_ingress_update(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate an update of an Ingress. Invalid secret names that the old object has are accepted."""
    before = (old.get("spec") or {}).get("tls") or ()
    were_right = not any(_secret_faults(tls.get("secretName") or "") for tls in before)
    yield from _validate_spec(obj.get("spec") or {}, check_secrets=were_right)


def validate_ingress_status(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate the load balancer status. Non-canonical addresses that the old object has are accepted."""
    path = field.Path("status", "loadBalancer", "ingress")
    old_ips = {point.get("ip") for point in _ingress_points(old)}
    for position, point in enumerate(_ingress_points(obj)):
        item_path, ip, hostname = path.index(position), point.get("ip"), point.get("hostname")
        if ip:
            check = check_ip_loosely if ip in old_ips else check_ip
            yield from check_all(item_path.child("ip"), ip, check(ip))
        if hostname:
            yield from check_all(item_path.child("hostname"), hostname, names.check_dns1123_subdomain(hostname))
            if parse_ip(hostname) is not None:
                yield field.invalid(item_path.child("hostname"), hostname, _NOT_AN_IP)


def _ingress_points(obj: Tree) -> list[Tree]:
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    return list(balancer.get("ingress") or ())


def _validate_spec(spec: Tree, *, check_secrets: bool) -> Iterator[FieldError]:
    backend, rules = spec.get("defaultBackend"), spec.get("rules") or ()
    if not rules and backend is None:
        detail = "either `defaultBackend` or `rules` must be specified"
        yield field.invalid(_SPEC, spec.get("rules"), detail)
    if backend is not None:
        yield from _validate_backend(backend, _SPEC.child("defaultBackend"))
    for position, rule in enumerate(rules):
        yield from _validate_rule(rule, _SPEC.child("rules").index(position))
    for position, tls in enumerate(spec.get("tls") or ()):
        item_path = _SPEC.child("tls").index(position)
        for number, host in enumerate(tls.get("hosts") or ()):
            yield from _check_host(host, item_path.child("hosts").index(number))
        secret = tls.get("secretName") or ""
        if check_secrets:
            yield from check_all(item_path.child("secretName"), secret, _secret_faults(secret))
    name = spec.get("ingressClassName")
    if name is not None:
        yield from check_all(_SPEC.child("ingressClassName"), name, names.check_dns1123_subdomain(name))


def _secret_faults(name: str) -> names.Faults:
    return names.check_dns1123_subdomain(name) if name else ()


def _check_host(host: str, path: Path) -> Iterator[FieldError]:
    check = names.check_wildcard_dns1123_subdomain if "*" in host else names.check_dns1123_subdomain
    yield from check_all(path, host, check(host))


def _validate_rule(rule: Tree, path: Path) -> Iterator[FieldError]:
    host = rule.get("host")
    if host:
        if parse_ip(host) is not None:
            yield field.invalid(path.child("host"), host, _NOT_AN_IP)
        yield from _check_host(host, path.child("host"))
    http = rule.get("http")
    if http is None:
        return
    paths_path = path.child("http", "paths")
    if not http.get("paths"):
        yield field.required(paths_path)
    for position, entry in enumerate(http.get("paths") or ()):
        yield from _validate_path(entry, paths_path.index(position))


def _validate_path(entry: Tree, path: Path) -> Iterator[FieldError]:
    type_, text = entry.get("pathType"), entry.get("path") or ""
    field_path = path.child("path")
    if type_ is None:
        yield field.required(path.child("pathType"), "pathType must be specified")
        return
    if type_ not in _PATH_TYPES:
        yield field.not_supported(path.child("pathType"), type_, _PATH_TYPES)
    elif type_ == "ImplementationSpecific":
        if text and not text.startswith("/"):
            yield field.invalid(field_path, text, "must be an absolute path")
    else:
        if not text.startswith("/"):
            yield field.invalid(field_path, text, "must be an absolute path")
        for part in _BAD_IN_PATHS:
            if part in text:
                yield field.invalid(field_path, text, f"must not contain '{part}'")
        for end in _BAD_ENDS:
            if text.endswith(end):
                yield field.invalid(field_path, text, f"cannot end with '{end}'")
    yield from _validate_backend(entry.get("backend") or {}, path.child("backend"))


def _validate_backend(backend: Tree, path: Path) -> Iterator[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield field.invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from validate_local_reference(resource, path.child("resource"))
    elif service is not None:
        yield from _validate_service(service, path)
    else:
        yield field.invalid(path, "", "resource or service backend is required")


def _validate_service(service: Tree, path: Path) -> Iterator[FieldError]:
    service_path = path.child("service")
    name = service.get("name") or ""
    if not name:
        yield field.required(service_path.child("name"))
    else:
        yield from check_all(service_path.child("name"), name, names.check_dns1123_label(name))
    port = service.get("port") or {}
    port_name, number = port.get("name") or "", port.get("number") or 0
    if port_name and number:
        yield field.invalid(path, "", "cannot set both port name & port number")
    elif port_name:
        yield from check_all(service_path.child("port", "name"), port_name, names.check_port_name(port_name))
    elif number:
        yield from check_all(service_path.child("port", "number"), number, names.check_port_number(number))
    else:
        yield field.required(path, "port name or number is required")
