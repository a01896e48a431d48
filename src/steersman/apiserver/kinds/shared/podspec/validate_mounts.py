"""Validation of volume mounts and volume devices of containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.shared.podspec.validate_sources import check_descending_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")


def validate_mounts(container: Tree, path: Path, volumes: dict[str, Tree]) -> Iterator[FieldError]:
    """Validate volume mounts: existing volumes, unique paths, no block devices."""
    devices = {device.get("name"): device.get("devicePath") for device in container.get("volumeDevices") or ()}
    places: set[str] = set()
    for position, mount in enumerate(container.get("volumeMounts") or ()):
        item_path = path.index(position)
        name, place = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            yield field.required(item_path.child("name"))
        if name not in volumes:
            yield field.not_found(item_path.child("name"), name)
        if not place:
            yield field.required(item_path.child("mountPath"))
        if place in places:
            yield field.invalid(item_path.child("mountPath"), place, "must be unique")
        places.add(place)
        if name in devices:
            yield field.invalid(item_path.child("name"), name, "must not already exist in volumeDevices")
        if place in devices.values():
            yield field.invalid(
                item_path.child("mountPath"), place, "must not already exist as a path in volumeDevices"
            )
        yield from _validate_sub_paths(mount, item_path, path)
        yield from _validate_propagation(mount, container, path)


def _validate_sub_paths(mount: Tree, item_path: Path, path: Path) -> Iterator[FieldError]:
    sub_path, expression = mount.get("subPath"), mount.get("subPathExpr")
    if sub_path:
        yield from check_descending_path(sub_path, path.child("subPath"))
    if expression:
        if sub_path:
            detail = "subPathExpr and subPath are mutually exclusive"
            yield field.invalid(item_path.child("subPathExpr"), expression, detail)
        yield from check_descending_path(expression, path.child("subPathExpr"))


def _validate_propagation(mount: Tree, container: Tree, path: Path) -> Iterator[FieldError]:
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        propagation_path = path.child("mountPropagation")
        if propagation not in _PROPAGATIONS:
            yield field.not_supported(propagation_path, propagation, _PROPAGATIONS)
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            detail = "Bidirectional mount propagation is available only to privileged containers"
            yield field.forbidden(propagation_path, detail)
    recursive = mount.get("recursiveReadOnly")
    read_only_path = path.child("recursiveReadOnly")
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield field.forbidden(read_only_path, "may only be specified when readOnly is true")
        if propagation not in (None, "None"):
            yield field.forbidden(
                read_only_path, "may only be specified when mountPropagation is None or not specified"
            )
    elif recursive not in (None, "Disabled"):
        yield field.not_supported(read_only_path, recursive, _RECURSIVE)


def validate_devices(container: Tree, path: Path, volumes: dict[str, Tree]) -> Iterator[FieldError]:
    """Validate volume devices: claims only, unique device paths."""
    mounts = {mount.get("name"): mount.get("mountPath") for mount in container.get("volumeMounts") or ()}
    names: set[str] = set()
    places: set[str] = set()
    for position, device in enumerate(container.get("volumeDevices") or ()):
        item_path = path.index(position)
        name, place = device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        if not name:
            yield field.required(item_path.child("name"))
        if name in names:
            yield field.invalid(item_path.child("name"), name, "must be unique")
        if volume is None:
            yield field.not_found(item_path.child("name"), name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield field.invalid(item_path.child("name"), name, detail)
        if not place:
            yield field.required(item_path.child("devicePath"))
        if place in places:
            yield field.invalid(item_path.child("devicePath"), place, "must be unique")
        if ".." in place.split("/"):
            yield field.invalid(item_path.child("devicePath"), place, "can not contain backsteps ('..')")
        else:
            places.add(place)
        if name in mounts:
            yield field.invalid(item_path.child("name"), name, "must not already exist in volumeMounts")
        if place in mounts.values():
            yield field.invalid(
                item_path.child("devicePath"), place, "must not already exist as a path in volumeMounts"
            )
        if name:
            names.add(name)
