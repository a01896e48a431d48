"""Validation of containers, init containers and ephemeral containers.

Functions that run for every container use no generators and make paths for errors only: these would cost more than the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.workmeter import charged
from steersman.apiserver.kinds.shared.podspec.resources import is_sidecar
from steersman.apiserver.kinds.shared.podspec.validate_env import validate_env, validate_env_from
from steersman.apiserver.kinds.shared.podspec.validate_mounts import validate_devices, validate_mounts
from steersman.apiserver.kinds.shared.podspec.validate_probes import has_probes, validate_lifecycle, validate_probes
from steersman.apiserver.kinds.shared.podspec.validate_resources import validate_requirements
from steersman.apiserver.kinds.shared.podspec.validate_security import validate_container_security
from steersman.apiserver.kinds.shared.podspec.validate_sources import PULL_POLICIES, check_pull_policy
from steersman.apiserver.kinds.shared.validation import PROTOCOLS, check_all, check_one_of, check_supported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.podspec.rules import PodRules

_UNITS_PER_CONTAINER: Final = 20
_UNITS_PER_PORT: Final = 2
_RESTARTS_NO_INIT: Final = "must not be set to 'RestartContainer' for non-sidecar initContainers"
_ONLY_SIDECARS: Final = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_NO_CLAIMS: Final[frozenset[str]] = frozenset()
_RESTART_RULES_MAX: Final = 20
_EXIT_CODES_MAX: Final = 255
#: Fields of most containers, for which ``_validate_common`` has all rules.
_OF_EVERY_CONTAINER: Final = frozenset(
    (
        "name",
        "image",
        "command",
        "args",
        "workingDir",
        "ports",
        "env",
        "resources",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "imagePullPolicy",
    )
)
#: Fields that ephemeral containers may not have, in the order of Go's struct.
_NOT_EPHEMERAL_FIELDS: Final = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


class ContainerContext:
    """Properties of a Pod that container validation depends on."""

    __slots__ = ("claims", "grace_seconds", "host_users", "restart_policy", "rules", "volumes")

    def __init__(self, spec: Tree, volumes: dict[str, Tree], rules: PodRules) -> None:
        self.volumes: Final = volumes
        self.rules: Final = rules
        claims = spec.get("resourceClaims")
        self.claims: Final = frozenset([c["name"] for c in claims if c.get("name")]) if claims else _NO_CLAIMS
        self.grace_seconds: Final[int | None] = spec.get("terminationGracePeriodSeconds")
        self.restart_policy: Final[str] = spec.get("restartPolicy") or ""
        #: The Pod has no user namespace.
        self.host_users: Final = spec.get("hostUsers") is not False


def validate_containers(containers: Sequence[Tree], path: Path, context: ContainerContext) -> list[FieldError]:
    """Validate ``spec.containers``, which must not be empty."""
    if not containers:
        return [field.required(path)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, container in enumerate(charged(containers, _UNITS_PER_CONTAINER)):
        item_path = path.index(position)
        _validate_common(container, item_path, context, errors)
        if (error := _duplicate_name(container, item_path, seen)) is not None:
            errors.append(error)
        if _OF_EVERY_CONTAINER.issuperset(container):
            continue
        if (lifecycle := container.get("lifecycle")) is not None:
            errors += validate_lifecycle(lifecycle, item_path.child("lifecycle"), context.grace_seconds)
        if has_probes(container):
            errors += validate_probes(container, item_path, context.grace_seconds)
        if container.get("restartPolicy") is not None or container.get("restartPolicyRules"):
            errors += _validate_restart(container, item_path)
    _check_host_ports(containers, path, errors)
    return errors


def validate_init_containers(spec: Tree, path: Path, context: ContainerContext) -> list[FieldError]:
    """Validate init containers; restartable ones may have the fields of regular containers."""
    errors: list[FieldError] = []
    seen = {container.get("name") or "" for container in spec.get("containers") or ()}
    for position, container in enumerate(charged(spec.get("initContainers") or (), _UNITS_PER_CONTAINER)):
        item_path = path.index(position)
        _validate_common(container, item_path, context, errors)
        errors += _validate_restart(container, item_path)
        if (error := _duplicate_name(container, item_path, seen, counts_empty=False)) is not None:
            errors.append(error)
        _check_host_ports([container], path, errors)
        if is_sidecar(container):
            if (lifecycle := container.get("lifecycle")) is not None:
                errors += validate_lifecycle(lifecycle, item_path.child("lifecycle"), context.grace_seconds)
            errors += validate_probes(container, item_path, context.grace_seconds)
            continue
        for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(name) is not None:
                errors.append(field.forbidden(item_path.child(name), _ONLY_SIDECARS))
        for number, policy in enumerate(container.get("resizePolicy") or ()):
            if policy.get("restartPolicy") == "RestartContainer":
                restart_policy_path = item_path.child("resizePolicy").index(number).child("restartPolicy")
                errors.append(field.invalid(restart_policy_path, "RestartContainer", _RESTARTS_NO_INIT))
    return errors


def validate_ephemeral_containers(spec: Tree, path: Path, context: ContainerContext) -> Iterator[FieldError]:
    """Validate ephemeral containers: no ports, probes or resources; unique names among all containers."""
    others = {
        container.get("name") or "" for kind in ("containers", "initContainers") for container in spec.get(kind) or ()
    }
    seen = set(others)
    for position, container in enumerate(charged(spec.get("ephemeralContainers") or (), _UNITS_PER_CONTAINER)):
        item_path = path.index(position)
        errors: list[FieldError] = []
        _validate_common(container, item_path, context, errors)
        yield from errors
        yield from check_image_padding(container, item_path)
        if (error := _duplicate_name(container, item_path, seen)) is not None:
            yield error
        target = container.get("targetContainerName")
        if target and target not in others:
            yield field.not_found(item_path.child("targetContainerName"), target)
        for name in _NOT_EPHEMERAL_FIELDS:
            value = container.get(name)
            if value if name == "resources" else value is not None:
                yield field.forbidden(item_path.child(name), _NOT_EPHEMERAL)
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            for name in ("subPath", "subPathExpr"):
                if mount.get(name):
                    yield field.forbidden(item_path.child("volumeMounts").index(number).child(name), _NOT_EPHEMERAL)


def check_image_padding(container: Tree, path: Path) -> Iterator[FieldError]:
    """Reject images with surrounding whitespace, in Pods only: stored templates may have it."""
    image = container.get("image") or ""
    if image != image.strip():
        yield field.invalid(path.child("image"), image, "must not have leading or trailing whitespace")


def _duplicate_name(container: Tree, path: Path, seen: set[str], *, counts_empty: bool = True) -> FieldError | None:
    name = container.get("name") or ""
    if name in seen:
        return field.duplicate(path.child("name"), name)
    if name or counts_empty:
        seen.add(name)
    return None


def _validate_common(container: Tree, path: Path, context: ContainerContext, errors: list[FieldError]) -> None:
    name = container.get("name")
    if not name:
        errors.append(field.required(path.child("name")))
    elif not names.is_dns1123_label(name):
        errors += check_all(path.child("name"), name, names.check_dns1123_label(name))
    if not container.get("image"):
        errors.append(field.required(path.child("image")))
    policy = container.get("terminationMessagePolicy")
    if policy not in _MESSAGE_POLICIES:
        errors += check_supported(policy, _MESSAGE_POLICIES, path.child("terminationMessagePolicy"))
    if ports := container.get("ports"):
        _validate_ports(ports, path, errors)
    if variables := container.get("env"):
        errors += validate_env(variables, path.child("env"), context.volumes)
    if sources := container.get("envFrom"):
        errors += validate_env_from(sources, path.child("envFrom"))
    if container.get("volumeMounts"):
        errors += validate_mounts(container, path.child("volumeMounts"), context.volumes)
    if container.get("volumeDevices"):
        errors += validate_devices(container, path.child("volumeDevices"), context.volumes)
    if container.get("imagePullPolicy") not in PULL_POLICIES:
        errors += check_pull_policy(container.get("imagePullPolicy"), path.child("imagePullPolicy"))
    if resources := container.get("resources"):
        errors += validate_requirements(resources, path.child("resources"), context.claims, context.rules)
    if policies := container.get("resizePolicy"):
        errors += _validate_resize_policy(policies, path.child("resizePolicy"), context.restart_policy)
    if security := container.get("securityContext"):
        errors += validate_container_security(
            security, path.child("securityContext"), host_users=context.host_users, rules=context.rules
        )


def _validate_ports(ports: Sequence[Tree], path: Path, errors: list[FieldError]) -> None:
    """Validate the ports of the container at ``path``."""
    seen: set[str] = set()
    for position, port in enumerate(ports):
        name, number, host_port = port.get("name"), port.get("containerPort"), port.get("hostPort")
        if name:
            if faults := names.check_port_name(name):
                errors += check_all(_in_port(path, position, "name"), name, faults)
            elif name in seen:
                errors.append(field.duplicate(_in_port(path, position, "name"), name))
            else:
                seen.add(name)
        if not number:
            errors.append(field.required(_in_port(path, position, "containerPort")))
        elif faults := names.check_port_number(number):
            errors += check_all(_in_port(path, position, "containerPort"), number, faults)
        if host_port and (faults := names.check_port_number(host_port)):
            errors += check_all(_in_port(path, position, "hostPort"), host_port, faults)
        if port.get("protocol") not in PROTOCOLS:
            errors += check_supported(port.get("protocol"), PROTOCOLS, _in_port(path, position, "protocol"))


def _in_port(path: Path, position: int, name: str) -> Path:
    return path.child("ports").index(position).child(name)


def _check_host_ports(containers: Sequence[Tree], path: Path, errors: list[FieldError]) -> None:
    """Reject duplicate host ports (same address and protocol)."""
    seen: set[str] = set()
    port: Tree  # typed, as compiled code then reads it directly
    for position, container in enumerate(charged(containers, _UNITS_PER_PORT)):
        for number, port in enumerate(charged(container.get("ports") or (), _UNITS_PER_PORT)):
            host_port = port.get("hostPort")
            if not host_port:
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{host_port}"
            if key in seen:
                errors.append(field.duplicate(_in_port(path.index(position), number, "hostPort"), key))
            seen.add(key)


def _validate_resize_policy(policies: Sequence[Tree], path: Path, restart_policy: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, policy in enumerate(policies):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            yield field.duplicate(path.index(position), name)
        seen.add(name)
        yield from check_supported(name, ("cpu", "memory"), path)
        yield from check_supported(restart, ("NotRequired", "RestartContainer"), path)
        if restart_policy == "Never" and restart != "NotRequired":
            yield field.invalid(path, restart, "must be 'NotRequired' when `restartPolicy` is 'Never'")


def _validate_restart(container: Tree, path: Path) -> Iterator[FieldError]:
    """Validate a container's restart policy and its rules by exit code."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is not None:
        yield from check_one_of(policy, ("Always", "Never", "OnFailure"), path.child("restartPolicy"))
    elif rules:
        yield field.required(path.child("restartPolicy"), "must specify restartPolicy when restart rules are used")
    if len(rules) > _RESTART_RULES_MAX:
        yield field.too_many(path.child("restartPolicyRules"), len(rules), max_items=_RESTART_RULES_MAX)
    for position, rule in enumerate(rules):
        item_path = path.child("restartPolicyRules").index(position)
        yield from check_one_of(rule.get("action"), ("Restart", "RestartAllContainers"), item_path.child("action"))
        codes = rule.get("exitCodes")
        if codes is None:
            yield field.required(item_path.child("exitCodes"), "must be specified")
            continue
        yield from check_one_of(codes.get("operator"), ("In", "NotIn"), item_path.child("exitCodes", "operator"))
        if len(codes.get("values") or ()) > _EXIT_CODES_MAX:
            yield field.too_many(
                item_path.child("exitCodes", "values"), len(codes["values"]), max_items=_EXIT_CODES_MAX
            )
