"""Validation of environment variables and of field and resource references."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.podspec.validate_sources import check_file_path
from steersman.apiserver.kinds.shared.validation import (
    check_all,
    validate_dns_label,
    validate_dns_subdomain,
    validate_qualified_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

VOLUME_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
ENV_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
#: Fields that references may name; the place of the reference restricts them further.
_KNOWN_FIELDS: Final = {*VOLUME_FIELDS, *ENV_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
#: Deprecated aliases that are still accepted.
_OLD_FIELDS: Final = {"spec.host": "spec.nodeName"}
_RESOURCES: Final = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS: Final = ("1m", "1")
_BYTE_DIVISORS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_SUBSCRIPTED: Final = re.compile(r"(?P<path>.+?)\['(?P<key>.*)'\]", re.DOTALL)
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def validate_env(variables: Sequence[Tree], path: Path, volumes: dict[str, Tree]) -> list[FieldError]:
    """Validate the environment variables of a container. ``volumes``: the Pod's, for ``fileKeyRef``."""
    errors: list[FieldError] = []
    for position, variable in enumerate(variables):
        name = variable.get("name") or ""
        if not name:
            errors.append(field.required(path.index(position).child("name")))
        elif faults := names.check_relaxed_env_var_name(name):
            errors += check_all(path.index(position).child("name"), name, faults)
        source = variable.get("valueFrom")
        if source is not None:
            errors += _validate_source(variable, source, path.index(position).child("valueFrom"), volumes)
    return errors


def _validate_source(variable: Tree, source: Tree, path: Path, volumes: dict[str, Tree]) -> Iterator[FieldError]:
    if (ref := source.get("fieldRef")) is not None:
        yield from check_object_field(ref, ENV_FIELDS, path.child("fieldRef"))
    if (ref := source.get("resourceFieldRef")) is not None:
        yield from check_resource_field(ref, path.child("resourceFieldRef"), needs_container=False)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if (ref := source.get(name)) is not None:
            yield from _validate_key(ref, path.child(name))
    if (ref := source.get("fileKeyRef")) is not None:
        yield from _validate_file_key(ref, path.child("fileKeyRef"), volumes)
    count = sum(source.get(name) is not None for name in _SOURCES)
    if not count:
        detail = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        )
        yield field.invalid(path, "", detail)
    elif variable.get("value"):
        yield field.invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield field.invalid(path, "", "may not have more than one field specified at a time")


def _validate_key(ref: Tree, path: Path) -> Iterator[FieldError]:
    name, key = ref.get("name") or "", ref.get("key") or ""
    yield from validate_dns_subdomain(name, path.child("name"))
    if not key:
        yield field.required(path.child("key"))
    else:
        yield from check_all(path.child("key"), key, names.check_config_map_key(key))


def _validate_file_key(ref: Tree, path: Path, volumes: dict[str, Tree]) -> Iterator[FieldError]:
    key, volume, file = ref.get("key") or "", ref.get("volumeName") or "", ref.get("path") or ""
    if not key:
        yield field.required(path.child("key"))
    else:
        yield from check_all(path.child("key"), key, names.check_relaxed_env_var_name(key))
    if not volume:
        yield field.required(path.child("volumeName"))
    else:
        yield from validate_dns_label(volume, path.child("volumeName"))
        if volume not in volumes:
            yield field.not_found(path.child("volumeName"), volume)
        elif volumes[volume].get("emptyDir") is None:
            yield field.invalid(path.child("volumeName"), volume, "volume must be of type emptyDir")
    if not file:
        yield field.required(path.child("path"))
    else:
        yield from check_file_path(file, path.child("path"))


def validate_env_from(sources: Sequence[Tree] | None, path: Path) -> Iterator[FieldError]:
    """Validate ``envFrom``."""
    for position, source in enumerate(sources or ()):
        item_path = path.index(position)
        prefix = source.get("prefix")
        if prefix:
            yield from check_all(item_path.child("prefix"), prefix, names.check_relaxed_env_var_name(prefix))
        references = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in references:
            referred = source[name].get("name")
            if not referred:
                yield field.required(item_path.child(name, "name"))
            else:
                faults = names.name_is_dns_subdomain(referred, prefix=True)
                yield from check_all(item_path.child(name, "name"), referred, faults)
        if not references:
            yield field.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(references) > 1:
            yield field.invalid(path, "", "may not have more than one field specified at a time")


# -- references -------------------------------------------------------------------------------------------------------


def check_object_field(ref: Tree, allowed: Sequence[str], path: Path) -> Iterator[FieldError]:
    """Validate an ``ObjectFieldSelector``; a single label or annotation is selected by ``['key']``."""
    version, name = ref.get("apiVersion"), ref.get("fieldPath")
    if not version:
        yield field.required(path.child("apiVersion"))
        return
    if not name:
        yield field.required(path.child("fieldPath"))
        return
    if fault := _unknown_field(version, name):
        yield field.invalid(path.child("fieldPath"), name, f"error converting fieldPath: {fault}")
        return
    match = _SUBSCRIPTED.fullmatch(name)
    if match is None:
        name = _OLD_FIELDS.get(name, name)
        if name not in allowed:
            yield field.not_supported(path.child("fieldPath"), name, sorted(allowed))
    elif match["path"] == "metadata.annotations":
        yield from validate_qualified_name(match["key"].lower(), path)
    elif match["path"] == "metadata.labels":
        yield from validate_qualified_name(match["key"], path)
    else:
        yield field.invalid(path, match["path"], "does not support subscript")


def _unknown_field(version: str, name: str) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    match = _SUBSCRIPTED.fullmatch(name)
    if match is not None:
        supports_subscripts = match["path"] in ("metadata.annotations", "metadata.labels")
        return "" if supports_subscripts else f"field label does not support subscript: {name}"
    return "" if name in _KNOWN_FIELDS or name in _OLD_FIELDS else f"field label not supported: {name}"


def check_resource_field(ref: Tree, path: Path, *, needs_container: bool) -> Iterator[FieldError]:
    """Validate a ``ResourceFieldSelector``."""
    resource = ref.get("resource") or ""
    if needs_container and not ref.get("containerName"):
        yield field.required(path.child("containerName"))
    elif not resource:
        yield field.required(path.child("resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield field.not_supported(path.child("resource"), resource, _RESOURCES)
    yield from _check_divisor(resource, ref.get("divisor"), path.child("divisor"))


def _check_divisor(resource: str, divisor: Any, path: Path) -> Iterator[FieldError]:
    if divisor in (None, "0"):
        return
    if resource.endswith(".cpu"):
        if divisor not in _CPU_DIVISORS:
            yield field.invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource")
        return
    if resource.startswith(_HUGE_PAGES):
        kind = "hugepages"
    elif resource in _RESOURCES:
        kind = "memory" if resource.endswith(".memory") else "local ephemeral storage"
    else:
        return
    if divisor not in _BYTE_DIVISORS:
        listed = ", ".join(_BYTE_DIVISORS)
        yield field.invalid(path, resource, f"only divisor's values {listed} are supported with the {kind} resource")
