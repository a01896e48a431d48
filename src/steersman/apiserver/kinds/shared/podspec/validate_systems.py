"""Validation of Pods against ``spec.os``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_NOT_WINDOWS: Final = "cannot be set for a windows pod"
_NOT_LINUX: Final = "windows options cannot be set for a linux pod"
#: In upstream's order: fields of the spec between those of its security context.
_POD_FIELDS: Final = (
    ("securityContext", "appArmorProfile"),
    ("securityContext", "seLinuxOptions"),
    ("hostUsers",),
    ("hostPID",),
    ("hostIPC",),
    ("securityContext", "seccompProfile"),
    ("securityContext", "fsGroup"),
    ("securityContext", "fsGroupChangePolicy"),
    ("securityContext", "sysctls"),
    ("shareProcessNamespace",),
    ("securityContext", "runAsUser"),
    ("securityContext", "runAsGroup"),
    ("securityContext", "supplementalGroups"),
    ("securityContext", "supplementalGroupsPolicy"),
    ("securityContext", "seLinuxChangePolicy"),
)
_CONTAINER_FIELDS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def validate_operating_system(spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate that a Pod has no fields unsupported by ``spec.os``. Pods without it are skipped."""
    system = spec.get("os")
    if system is None:
        return
    name = system.get("name")
    if not name:
        yield field.required(path.child("os", "name"), "cannot be empty")
    elif name == "linux":
        yield from _validate_linux(spec, path)
    elif name == "windows":
        yield from _validate_windows(spec, path)
    else:
        yield field.not_supported(path.child("os"), name, ("linux", "windows"))


def _contexts(spec: Tree, path: Path) -> Iterator[tuple[Tree, Path]]:
    """Yield the security contexts of all containers."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(kind) or ()):
            context = container.get("securityContext")
            if context:
                yield context, path.child(kind).index(position).child("securityContext")


def _validate_linux(spec: Tree, path: Path) -> Iterator[FieldError]:
    if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
        yield field.forbidden(path.child("securityContext", "windowsOptions"), _NOT_LINUX)
    for context, context_path in _contexts(spec, path):
        if context.get("windowsOptions") is not None:
            yield field.forbidden(context_path.child("windowsOptions"), _NOT_LINUX)


def _validate_windows(spec: Tree, path: Path) -> Iterator[FieldError]:
    for steps in _POD_FIELDS:
        holder = spec if len(steps) == 1 else spec.get("securityContext") or {}
        value = holder.get(steps[-1])
        is_flag = steps[-1] in ("hostPID", "hostIPC")
        if value if is_flag else value is not None:
            yield field.forbidden(path.child(*steps), _NOT_WINDOWS)
    for context, context_path in _contexts(spec, path):
        for name in _CONTAINER_FIELDS:
            if context.get(name) is not None:
                yield field.forbidden(context_path.child(name), _NOT_WINDOWS)
