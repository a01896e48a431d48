"""Validation of Pod specs and Pod templates: entry points that call one module per concern.

Upstream: ``ValidatePodSpec``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery import field, names
from steersman.apimachinery.addresses import check_ip
from steersman.apimachinery.metadata_validation import validate_annotations, validate_labels
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.podspec.profile_annotations import (
    validate_profile_annotations,
    validate_profiles_match,
)
from steersman.apiserver.kinds.shared.podspec.rules import TEMPLATE_RULES, PodRules
from steersman.apiserver.kinds.shared.podspec.validate_containers import (
    ContainerContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from steersman.apiserver.kinds.shared.podspec.validate_placement import (
    validate_affinity,
    validate_gates,
    validate_tolerations,
    validate_topology_spread_constraints,
)
from steersman.apiserver.kinds.shared.podspec.validate_resources import validate_pod_resources, validate_requirements
from steersman.apiserver.kinds.shared.podspec.validate_security import (
    has_host_process,
    validate_host_process,
    validate_pod_security,
)
from steersman.apiserver.kinds.shared.podspec.validate_systems import validate_operating_system
from steersman.apiserver.kinds.shared.podspec.validate_volumes import validate_volumes
from steersman.apiserver.kinds.shared.validation import (
    check_all,
    check_supported,
    validate_dns_label,
    validate_dns_subdomain,
)
from steersman.apiserver.spec_facts import new_facts
from steersman.schema.decoding import DecodeError, decode
from steersman.schema.loader import struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_NOT_WITH_USER_NAMESPACE: Final = "when `hostUsers` is false"
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_NAME_SERVERS_MAX: Final = 3
_SEARCH_PATHS_MAX: Final = 32
_SEARCH_LENGTH_MAX: Final = 2048
_HOSTNAME_LENGTH_MAX: Final = 64
_INT32_MAX: Final = (1 << 31) - 1
_TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"


def validate_pod_template(
    template: Tree, path: Path, rules: PodRules = TEMPLATE_RULES, facts_for: FactsFor = new_facts
) -> Iterator[FieldError]:
    """Validate a PodTemplateSpec: labels, annotations and spec. Ephemeral containers are rejected."""
    yield from validate_template_metadata(template, path)
    spec = template.get("spec") or {}
    yield from validate_pod_spec(spec, path.child("spec"), rules, facts_for=facts_for)
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    yield from validate_profiles_match(annotations, spec, path.child("spec"))
    if spec.get("ephemeralContainers"):
        yield field.forbidden(
            path.child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"
        )


def validate_template_metadata(template: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the labels and annotations of a template."""
    metadata = template.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    yield from validate_labels(metadata.get("labels") or {}, path.child("labels"))
    yield from validate_annotations(annotations, path.child("annotations"))
    yield from validate_pod_annotations(annotations, template.get("spec") or {}, path.child("annotations"))


def validate_pod_annotations(annotations: dict[str, str], spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate annotations with a meaning for Pods."""
    if not annotations:
        return
    mirror = "kubernetes.io/config.mirror"
    if mirror in annotations and not spec.get("nodeName"):
        yield field.invalid(
            path.key(mirror), annotations[mirror], "must set spec.nodeName if mirror pod annotation is set"
        )
    if text := annotations.get(_TOLERATIONS):
        yield from _validate_tolerations_annotation(text, path)
    cost_name = "controller.kubernetes.io/pod-deletion-cost"
    cost = annotations.get(cost_name)
    if cost is not None and not _is_cost(cost):
        yield field.invalid(path.key(cost_name), cost, "must be a 32bit integer")
    yield from validate_profile_annotations(annotations, spec, path)


def _validate_tolerations_annotation(text: str, path: Path) -> Iterator[FieldError]:
    """Validate the alpha form of tolerations. Upstream: ``ValidateTolerationsInPodAnnotations``."""
    try:
        items: list[Tree] = msgspec.json.decode(text, type=list[dict[str, Any]])
        tolerations = [decode(struct("io.k8s.api.core.v1.Toleration"), item).tree for item in items]
    except (msgspec.DecodeError, DecodeError, RecursionError) as error:
        yield field.invalid(path, _TOLERATIONS, str(error))
        return
    yield from validate_tolerations(tolerations, path.child(_TOLERATIONS))


def _is_cost(text: str) -> bool:
    """Report whether a text is a 32-bit integer; leading zeros are valid only in negative ones, as upstream."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (len(text) > 1 and text[0] == "0"):
        return False
    return -_INT32_MAX - 1 <= int(text) <= _INT32_MAX


def validate_pod_spec(
    spec: Tree, path: Path, rules: PodRules = TEMPLATE_RULES, facts_for: FactsFor = new_facts
) -> list[FieldError]:
    """Validate a Pod spec, in upstream's order, unless an equal one was valid under the same rules."""
    return facts_for(spec).errors_under(rules.besides_name(), lambda: spec_errors(spec, path, rules))


def spec_errors(spec: Tree, path: Path, rules: PodRules) -> list[FieldError]:
    """Return the errors of a Pod spec, in upstream's order."""
    errors: list[FieldError] = []
    if spec.get("terminationGracePeriodSeconds") is None:
        errors.append(field.required(path.child("terminationGracePeriodSeconds")))
    # Absent fields are skipped here, as a call and a path for each of them would dominate the cost.
    volumes: dict[str, Tree] = {}
    if spec.get("volumes"):
        of_volumes, volumes = validate_volumes(spec, path.child("volumes"), rules)
        errors += of_volumes
    if spec.get("resourceClaims"):
        errors += _validate_claims(spec, path.child("resourceClaims"))
    context = ContainerContext(spec, volumes, rules)
    errors += validate_containers(spec.get("containers") or (), path.child("containers"), context)
    if spec.get("initContainers"):
        errors += validate_init_containers(spec, path.child("initContainers"), context)
    if spec.get("ephemeralContainers"):
        errors += validate_ephemeral_containers(spec, path.child("ephemeralContainers"), context)
    if spec.get("resources") is not None:
        errors += validate_pod_resources(spec, path.child("resources"), context.claims, rules)
    if spec.get("hostNetwork"):
        errors += _validate_host_network(spec, path, rules)
    if spec.get("restartPolicy") not in _RESTART_POLICIES:
        errors += check_supported(spec.get("restartPolicy"), _RESTART_POLICIES, path.child("restartPolicy"))
    if spec.get("dnsPolicy") not in _DNS_POLICIES:
        errors += check_supported(spec.get("dnsPolicy"), _DNS_POLICIES, path.child("dnsPolicy"))
    if spec.get("nodeSelector"):
        errors += validate_labels(spec["nodeSelector"], path.child("nodeSelector"))
    if spec.get("securityContext") or spec.get("shareProcessNamespace"):
        errors += validate_pod_security(spec, path.child("securityContext"))
    if spec.get("affinity") is not None:
        errors += validate_affinity(spec["affinity"], path.child("affinity"), rules)
    if spec.get("dnsConfig") is not None or spec.get("dnsPolicy") == "None":
        errors += _validate_dns(spec, path.child("dnsConfig"))
    if spec.get("readinessGates") or spec.get("schedulingGates"):
        errors += validate_gates(spec, path)
    if constraints := spec.get("topologySpreadConstraints"):
        errors += validate_topology_spread_constraints(constraints, path.child("topologySpreadConstraints"), rules)
    if has_host_process(spec):
        errors += validate_host_process(spec, path)
    if spec.get("hostUsers") is False:
        errors += _validate_host_users(spec, path)
    _validate_names(spec, path, errors)
    if spec.get("tolerations"):
        errors += validate_tolerations(spec["tolerations"], path.child("tolerations"))
    if spec.get("hostAliases"):
        errors += _validate_host_aliases(spec["hostAliases"], path.child("hostAliases"))
    if name := spec.get("priorityClassName"):
        errors += validate_dns_subdomain(name, path.child("priorityClassName"))
    if (name := spec.get("runtimeClassName")) is not None:
        errors += validate_dns_subdomain(name, path.child("runtimeClassName"))
    if (policy := spec.get("preemptionPolicy")) is not None and policy not in _PREEMPTION_POLICIES:
        errors += check_supported(policy, _PREEMPTION_POLICIES, path.child("preemptionPolicy"))
    if overhead := spec.get("overhead"):
        errors += validate_requirements({"limits": overhead}, path.child("overhead"), frozenset(), rules)
    if spec.get("os") is not None:
        errors += validate_operating_system(spec, path)
    return errors


def validate_only_for_pods(spec: Tree, path: Path) -> list[FieldError]:
    """Validate rules that apply to Pods only; templates are exempt for compatibility with stored objects."""
    errors: list[FieldError] = []
    if not spec.get("serviceAccountName"):
        for position, volume in enumerate(spec.get("volumes") or ()):
            for number, part in enumerate((volume.get("projected") or {}).get("sources") or ()):
                if part.get("serviceAccountToken") is not None:
                    source_path = path.child("volumes").index(position).child("projected", "sources").index(number)
                    detail = "must not be specified when serviceAccountName is not set"
                    errors.append(field.forbidden(source_path.child("serviceAccountToken"), detail))
    for kind in ("containers", "initContainers"):
        for position, container in enumerate(spec.get(kind) or ()):
            image = container.get("image") or ""
            if image != image.strip():
                image_path = path.child(kind).index(position).child("image")
                errors.append(field.invalid(image_path, image, "must not have leading or trailing whitespace"))
    return errors


def _validate_claims(spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the resource claims (DRA) of a Pod."""
    seen: set[str] = set()
    for position, claim in enumerate(spec.get("resourceClaims") or ()):
        item_path = path.index(position)
        name = claim.get("name") or ""
        if not name:
            yield field.required(item_path.child("name"))
        elif name in seen:
            yield field.duplicate(item_path.child("name"), name)
        else:
            yield from validate_dns_label(name, item_path.child("name"))
            seen.add(name)
        existing, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        if existing is not None and template is not None:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield field.invalid(item_path, go_form("PodResourceClaim", claim), detail)
        if existing is None and template is None:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            yield field.invalid(item_path, go_form("PodResourceClaim", claim), detail)
        for key in ("resourceClaimName", "resourceClaimTemplateName"):
            if (value := claim.get(key)) is not None:
                yield from validate_dns_subdomain(value, item_path.child(key))


def _validate_host_network(spec: Tree, path: Path, rules: PodRules) -> Iterator[FieldError]:
    """Validate the host ports of a Pod in the host's network."""
    for position, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            host_port = port.get("hostPort", 0)
            if (rules.is_pod or host_port) and host_port != port.get("containerPort", 0):
                host_port_path = path.child("containers").index(position).child("ports").index(number).child("hostPort")
                yield field.invalid(host_port_path, host_port, "must match `containerPort` when `hostNetwork` is true")


def _validate_dns(spec: Tree, path: Path) -> Iterator[FieldError]:
    config = spec.get("dnsConfig")
    servers = (config or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield field.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield field.required(path.child("nameservers"), detail)
            return
    if config is None:
        return
    if len(servers) > _NAME_SERVERS_MAX:
        detail = f"must not have more than {_NAME_SERVERS_MAX} nameservers"
        yield field.invalid(path.child("nameservers"), servers, detail)
    for position, server in enumerate(servers):
        yield from check_all(path.child("nameservers").index(position), server, check_ip(server))
    searches = config.get("searches") or []
    searches_path = path.child("searches")
    if len(searches) > _SEARCH_PATHS_MAX:
        yield field.invalid(searches_path, searches, f"must not have more than {_SEARCH_PATHS_MAX} search paths")
    if len(" ".join(searches)) > _SEARCH_LENGTH_MAX:
        detail = f"must not have more than {_SEARCH_LENGTH_MAX} characters (including spaces) in the search list"
        yield field.invalid(searches_path, searches, detail)
    for position, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            faults = names.check_dns1123_subdomain_with_underscore(domain)
            yield from check_all(searches_path.index(position), domain, faults)
    for position, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield field.required(path.child("options").index(position), "must not be empty")


def _validate_host_users(spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate that a Pod with a user namespace has no namespace of the host and no raw block volumes."""
    for name, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(name):
            yield field.forbidden(path.child(shown), _NOT_WITH_USER_NAMESPACE)
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(kind) or ()):
            if container.get("volumeDevices"):
                yield field.forbidden(path.child(kind).index(position).child("volumeDevices"), _NOT_WITH_USER_NAMESPACE)


def _validate_names(spec: Tree, path: Path, errors: list[FieldError]) -> None:
    for name in ("serviceAccountName", "nodeName"):
        if (value := spec.get(name)) and (faults := names.check_dns1123_subdomain(value)):
            errors += check_all(path.child(name), value, faults)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        faults = names.check_in_range(deadline, 1, _INT32_MAX)
        errors += check_all(path.child("activeDeadlineSeconds"), deadline, faults)
    for name in ("hostname", "subdomain"):
        if value := spec.get(name):
            errors += validate_dns_label(value, path.child(name))
    if (override := spec.get("hostnameOverride")) is not None:
        errors += _validate_hostname_override(override, spec, path.child("hostnameOverride"))


def _validate_hostname_override(override: str, spec: Tree, path: Path) -> Iterator[FieldError]:
    if spec.get("hostNetwork"):
        yield field.forbidden(path, "may not be specified when hostNetwork is true")
    if spec.get("setHostnameAsFQDN"):
        yield field.forbidden(path, "may not be specified when setHostnameAsFQDN is true")
    if len(override) > _HOSTNAME_LENGTH_MAX:
        yield field.too_long(path, max_bytes=_HOSTNAME_LENGTH_MAX)
    yield from validate_dns_subdomain(override, path)


def _validate_host_aliases(aliases: Sequence[Tree], path: Path) -> Iterator[FieldError]:
    for position, alias in enumerate(aliases):
        item_path = path.index(position)
        ip = alias.get("ip") or ""
        yield from check_all(item_path.child("ip"), ip, check_ip(ip))
        for number, hostname in enumerate(alias.get("hostnames") or ()):
            yield from validate_dns_subdomain(hostname, item_path.child("hostnames").index(number))
