"""Validation of Pod statuses and warnings about them. Upstream: ``ValidatePodStatusUpdate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.addresses import check_ip, parse_ip
from steersman.apiserver.kinds.core.pod.updates import validate_annotation_changes
from steersman.apiserver.kinds.shared.address_warnings import ip_warnings
from steersman.apiserver.kinds.shared.validation import (
    check_all,
    check_unchanged,
    validate_dns_label,
    validate_dns_subdomain,
    validate_qualified_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_STATUS: Final = field.Path("status")
_KNOWN_CONDITIONS: Final = frozenset({"PodScheduled", "Ready", "Initialized", "ContainersReady"})
_CLAIM_PREFIX: Final = "claim:"
_ASKING: Final = ("initContainers", "containers")
_MAPPED: Final = ("containerName", "resourceName", "requestName")
_NOT_ASKED: Final = (
    "must match the extended resource name of an entry in "
    "spec.initContainers.resources.requests or spec.containers.resources.requests"
)
_HEALTH: Final = ("Healthy", "Unhealthy", "Unknown")
_NOT_NEGATIVE: Final = "must be a non-negative integer"
_INT32_MAX: Final = (1 << 31) - 1


def validate_pod_status(pod: Tree, old: Tree) -> list[FieldError]:
    """Validate an update of a Pod's status."""
    status, before = pod.get("status") or {}, old.get("status") or {}
    spec = old["spec"]
    errors = list(validate_annotation_changes(pod, old))
    errors += _validate_conditions(status.get("conditions") or ())
    errors += _validate_nomination(status.get("nominatedNodeName"), before.get("nominatedNodeName"), spec)
    if status.get("observedGeneration", 0) < 0:
        errors.append(field.invalid(_STATUS.child("observedGeneration"), status["observedGeneration"], _NOT_NEGATIVE))
    errors += check_unchanged(status.get("qosClass"), before.get("qosClass"), _STATUS.child("qosClass"))
    errors += _validate_states(status, before, spec)
    errors += _validate_claim_statuses(status.get("resourceClaimStatuses") or (), spec.get("resourceClaims") or ())
    errors += _validate_extended_claim(status.get("extendedResourceClaimStatus"), spec)
    errors += _validate_ips(status.get("podIPs") or (), "podIPs")
    errors += _validate_host_ips(status)
    errors += _validate_users(status, spec)
    errors += _validate_allocated_resources(status, spec)
    return errors


def _validate_conditions(conditions: Sequence[Tree]) -> Iterator[FieldError]:
    for position, condition in enumerate(conditions):
        item_path = _STATUS.child("conditions").index(position)
        generation = condition.get("observedGeneration") or 0
        if generation < 0:
            yield field.invalid(item_path.child("observedGeneration"), generation, _NOT_NEGATIVE)
        kind = condition.get("type") or ""
        if kind not in _KNOWN_CONDITIONS:
            yield from validate_qualified_name(kind, item_path.child("Type"))


def _validate_nomination(node: str | None, before: str | None, spec: Tree) -> Iterator[FieldError]:
    """Validate ``nominatedNodeName``, which may be set only while the Pod is unscheduled."""
    if node and node != before:
        path = _STATUS.child("nominatedNodeName")
        yield from validate_dns_subdomain(node, path)
        if spec.get("nodeName"):
            yield field.forbidden(path, "may not be set on pods that are already bound to a node")


# -- container states -------------------------------------------------------------------------------------------------


def _validate_states(status: Tree, before: Tree, spec: Tree) -> Iterator[FieldError]:
    """Reject transitions from terminated to another state of containers that may not restart."""
    kinds = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}
    if any(_restarts_all(container) for kind in kinds.values() for container in spec.get(kind) or ()):
        kinds = {}
    for kind in (*kinds, "ephemeralContainerStatuses"):
        containers = {container.get("name"): container for container in spec.get(kinds.get(kind, "")) or ()}
        running = {one.get("name") for one in status.get(kind) or () if not _terminated_state(one)}
        for position, one in enumerate(before.get(kind) or ()):
            if (ended := _terminated_state(one)) is None or one.get("name") not in running:
                continue
            container = containers.get(one.get("name"))
            if container is None or not _may_restart(container, spec.get("restartPolicy"), ended.get("exitCode", 0)):
                state_path = _STATUS.child(kind).index(position).child("state")
                yield field.forbidden(state_path, "may not be transitioned to non-terminated state")


def _restarts_all(container: Tree) -> bool:
    return any(rule.get("action") == "RestartAllContainers" for rule in container.get("restartPolicyRules") or ())


def _terminated_state(status: Tree) -> Tree | None:
    return (status.get("state") or {}).get("terminated")


def _may_restart(container: Tree, policy: str | None, exit_code: int) -> bool:
    """Report whether a container may restart after ``exit_code``. Upstream: ``ContainerShouldRestart``."""
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes")
        if codes is not None and (exit_code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
            return True
    own = container.get("restartPolicy") or policy
    return own == "Always" or (own == "OnFailure" and exit_code != 0)


# -- addresses --------------------------------------------------------------------------------------------------------


def _validate_ips(ips: Sequence[Tree], name: str) -> Iterator[FieldError]:
    """Validate Pod or host IPs: valid addresses, at most one of each family."""
    path = _STATUS.child(name)
    texts = [one.get("ip") or "" for one in ips]
    for position, text in enumerate(texts):
        yield from check_all(path.index(position), text, check_ip(text))
    if len(texts) < 2:
        return
    parsed = [parse_ip(text) for text in texts]
    wrong = next((position for position, ip in enumerate(parsed) if ip is None), None)
    if wrong is not None:
        detail = f"failed to check for dual stack with error:invalid IP[{wrong}]: {texts[wrong]}"
        yield field.FieldError(field.ErrorType.INTERNAL, path, detail=detail)
    families = {ip.version for ip in parsed if ip is not None}
    if wrong is not None or len(families) < 2 or len(texts) > 2:
        shown = [{"IP": text} for text in texts]
        yield field.invalid(path, shown, "may specify no more than one IP for each IP family")


def _validate_host_ips(status: Mapping[str, Any]) -> Iterator[FieldError]:
    ips = status.get("hostIPs") or ()
    if not ips:
        return
    first = ips[0].get("ip") or ""
    if (status.get("hostIP") or "") != first:
        ip_path = _STATUS.child("hostIPs").index(0).child("ip")
        yield field.invalid(ip_path, first, "must be equal to `hostIP`")
    yield from _validate_ips(ips, "hostIPs")


# -- resource claims and users ----------------------------------------------------------------------------------------


def _validate_claim_statuses(statuses: Sequence[Tree], claims: Sequence[Tree]) -> Iterator[FieldError]:
    claim_names = {claim.get("name") for claim in claims}
    seen: set[str] = set()
    for position, status in enumerate(statuses):
        item_path = _STATUS.child("resourceClaimStatuses").index(position)
        name_path = item_path.child("name")
        name = status.get("name") or ""
        if name not in claim_names:
            yield field.invalid(name_path, name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            yield field.duplicate(name_path, name)
        seen.add(name)
        if (claim := status.get("resourceClaimName")) is not None:
            yield from validate_dns_subdomain(claim, item_path.child("resourceClaimName"))


def _validate_extended_claim(status: Tree | None, spec: Tree) -> Iterator[FieldError]:
    """Validate the claim created for extended resources and its mapping of requests (KEP-5004)."""
    if status is None:
        return
    path = _STATUS.child("extendedResourceClaimStatus")
    mappings = status.get("requestMappings") or ()
    if not mappings:
        yield field.required(path.child("requestMappings"), "at least one request mapping is required")
    containers = {one.get("name"): one for kind in _ASKING for one in spec.get(kind) or ()}
    seen: set[tuple[str, ...]] = set()
    for position, mapping in enumerate(mappings):
        item_path = path.child("requestMappings").index(position)
        container, resource, request = key = tuple(mapping.get(name) or "" for name in _MAPPED)
        if container not in containers:
            detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            yield field.invalid(item_path.child("containerName"), container, detail)
        elif resource not in ((containers[container].get("resources") or {}).get("requests") or {}):
            yield field.invalid(item_path.child("resourceName"), resource, _NOT_ASKED)
        yield from validate_dns_label(request, path.child("requestName"))
        if key in seen:
            for name, value in zip(_MAPPED, key, strict=True):
                yield field.duplicate(item_path.child(name), value)
        seen.add(key)
    claim = status.get("resourceClaimName")
    if not claim:
        yield field.required(path.child("resourceClaimName"))
    else:
        yield from validate_dns_subdomain(claim, path.child("resourceClaimName"))


def _validate_users(status: Tree, spec: Tree) -> Iterator[FieldError]:
    """Validate the users that containers run as; only Linux Pods may report them."""
    is_windows = (spec.get("os") or {}).get("name") == "windows"
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for position, one in enumerate(status.get(kind) or ()):
            linux = (one.get("user") or {}).get("linux")
            if linux is None:
                continue
            linux_path = _STATUS.child(kind).index(position).child("linux")
            if is_windows:
                yield field.forbidden(linux_path, "cannot be set for a windows pod")
                continue
            for name in ("uid", "gid"):
                yield from _check_id(linux.get(name, 0), linux_path.child(name))
            for number, group in enumerate(linux.get("supplementalGroups") or ()):
                yield from _check_id(group, linux_path.child("supplementalGroups").index(number))


def _validate_allocated_resources(status: Tree, spec: Tree) -> Iterator[FieldError]:
    """Validate the health of allocated devices (KEP-4680)."""
    for kind, parts in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        containers = {container.get("name"): container for container in spec.get(parts) or ()}
        for position, one in enumerate(status.get(kind) or ()):
            path = _STATUS.child(kind).index(position).child("allocatedResourcesStatus")
            for number, allocated in enumerate(one.get("allocatedResourcesStatus") or ()):
                item_path = path.index(number)
                if (container := containers.get(one.get("name"))) is not None:
                    yield from _validate_requested(allocated.get("name") or "", container, item_path.child("name"))
                yield from _validate_health(allocated.get("resources") or (), item_path.child("resources"))
    for position, one in enumerate(status.get("ephemeralContainerStatuses") or ()):
        if one.get("allocatedResourcesStatus"):
            path = _STATUS.child("ephemeralContainerStatuses").index(position).child("allocatedResourcesStatus")
            yield field.forbidden(path, "must not be specified in container status")


def _validate_requested(name: str, container: Tree, path: field.Path) -> Iterator[FieldError]:
    resources = container.get("resources") or {}
    if name.startswith(_CLAIM_PREFIX):
        pairs = [(claim.get("name", ""), claim.get("request")) for claim in resources.get("claims") or ()]
        resource_names = [
            f"{_CLAIM_PREFIX}{claim}/{request}" if request else f"{_CLAIM_PREFIX}{claim}" for claim, request in pairs
        ]
        detail = (
            "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
            "'claim:<claimName>' if request is empty"
        )
    else:
        resource_names = list(resources.get("requests") or ())
        detail = "must match one of the container's resource requests"
    if name not in resource_names:
        yield field.invalid(path, name, detail)


def _validate_health(resources: Sequence[Tree], path: field.Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, resource in enumerate(resources):
        health, identifier = resource.get("health") or "", resource.get("resourceID") or ""
        if health not in _HEALTH:
            yield field.not_supported(path.index(position).child("health"), health, _HEALTH)
        if identifier in seen:
            yield field.duplicate(path.index(position).child("resourceID"), identifier)
        seen.add(identifier)


def _check_id(value: int, path: field.Path) -> Iterator[FieldError]:
    yield from check_all(path, value, names.check_in_range(value, 0, _INT32_MAX))


# -- warnings ---------------------------------------------------------------------------------------------------------


def pod_status_warnings(status: Tree) -> Iterator[str]:
    """Yield warnings about addresses in non-canonical form."""
    for name in ("podIPs", "hostIPs"):
        for position, one in enumerate(status.get(name) or ()):
            yield from ip_warnings(f"status.{name}[{position}].ip", one.get("ip") or "")
