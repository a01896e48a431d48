"""Validation of volume specs: those of PersistentVolumes, and the inline ones of VolumeAttachments.

Sources that Pods have too are validated in ``kinds/shared/podspec/validate_sources.py``.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.quantity import parse
from steersman.apiserver.kinds.shared.podspec import validate_sources as sources
from steersman.apiserver.kinds.shared.podspec.validate_claims import (
    VOLUME_MODES,
    check_access_modes,
    check_positive_quantity,
)
from steersman.apiserver.kinds.shared.podspec.validate_placement import validate_node_selector
from steersman.apiserver.kinds.shared.validation import validate_dns_label, validate_dns_subdomain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_POLICIES: Final = ("Delete", "Recycle", "Retain")
_MORE_THAN_ONE: Final = "may not specify more than 1 volume type"
_NOT_INLINE: Final = "may not be specified in the context of inline volumes"
_CSI_SECRETS: Final = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


# -- sources that differ from those of Pods ---------------------------------------------------------------------------


def _check_csi(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from sources.check_csi_driver_name(source.get("driver") or "", path.child("driver"))
    if not source.get("volumeHandle"):
        yield field.required(path.child("volumeHandle"))
    for name in _CSI_SECRETS:
        if (ref := source.get(name)) is not None:
            for part, check in (("name", validate_dns_subdomain), ("namespace", validate_dns_label)):
                if not ref.get(part):
                    yield field.required(path.child(name, part))
                else:
                    yield from check(ref[part], path.child(name, part))


def _check_cinder(source: Tree, path: Path) -> Iterator[FieldError]:
    if not source.get("volumeID"):
        yield field.required(path.child("volumeID"))
    yield from sources.check_secret_ref(source, path, with_namespace=True)


def _check_glusterfs(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from sources.check_glusterfs(source, path)
    namespace = source.get("endpointsNamespace")
    if namespace is not None:
        namespace_path = path.child("endpointsNamespace")
        if not namespace:
            detail = "if the endpointnamespace is set, it must be a valid namespace name"
            yield field.invalid(namespace_path, namespace, detail)
        else:
            yield from validate_dns_label(namespace, namespace_path)


def _check_azure_file(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from sources.check_azure_file(source, path)
    if source.get("secretNamespace") == "":
        yield field.required(path.child("secretNamespace"))


def _check_iscsi(source: Tree, path: Path, volume_name: str = "") -> Iterator[FieldError]:
    portal = source.get("targetPortal") or ""
    if not portal:
        yield field.required(path.child("targetPortal"))
    if source.get("initiatorName") is not None and len(f"{volume_name}:{portal}") > sources.ISCSI_LENGTH_MAX:
        yield field.invalid(path.child("targetportal"), portal, sources.ISCSI_TOO_LONG)
    yield from sources.check_iscsi_rest(source, path, unknown="must be valid format")
    yield from sources.check_secret_ref(source, path)


def _check_storage_os(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from sources.check_storage_os(source, path)
    ref = source.get("secretRef")
    if ref is not None and not ref.get("namespace"):
        yield field.required(path.child("secretRef", "namespace"))


def _check_local(source: Tree, path: Path) -> Iterator[FieldError]:
    if not source.get("path"):
        yield field.required(path.child("path"))
    else:
        yield from sources.check_no_backsteps(source["path"], path.child("path"))


SOURCES: Final[dict[str, Callable[[Tree, Path], Iterator[FieldError]]]] = {
    "hostPath": sources.check_host_path,
    "gcePersistentDisk": sources.check_gce_disk,
    "awsElasticBlockStore": sources.check_aws_disk,
    "glusterfs": _check_glusterfs,
    "flocker": sources.check_flocker,
    "nfs": sources.check_nfs,
    "rbd": sources.check_rbd,
    "quobyte": sources.check_quobyte,
    "cephfs": sources.check_cephfs,
    "iscsi": _check_iscsi,
    "cinder": _check_cinder,
    "fc": sources.check_fc,
    "flexVolume": sources.check_flex_volume,
    "azureFile": _check_azure_file,
    "vsphereVolume": sources.check_vsphere,
    "photonPersistentDisk": sources.check_photon,
    "portworxVolume": sources.check_portworx,
    "azureDisk": sources.check_azure_disk,
    "scaleIO": sources.check_scale_io,
    "local": _check_local,
    "storageos": _check_storage_os,
    "csi": _check_csi,
}


# -- specs ------------------------------------------------------------------------------------------------------------


def validate_volume_spec(spec: Tree, path: Path, *, volume_name: str = "", is_inline: bool = False) -> list[FieldError]:
    """Validate the spec of a volume. Upstream: ``ValidatePersistentVolumeSpec``.

    An inline volume has a CSI source and neither capacity nor class, as no PersistentVolume exists for it.
    """
    errors: list[FieldError] = []
    if is_inline:
        errors += _validate_inline(spec, path)
    if not spec.get("accessModes"):
        errors.append(field.required(path.child("accessModes")))
    errors += check_access_modes(spec.get("accessModes"), path.child("accessModes"))
    if not is_inline:
        errors += _validate_capacity(spec, path.child("capacity"))
    errors += _validate_policy(spec, path, is_inline=is_inline)
    errors += _validate_node_affinity(spec, path.child("nodeAffinity"), is_inline=is_inline)
    errors += _validate_sources(spec, path, volume_name)
    errors += _validate_class_and_mode(spec, path, is_inline=is_inline)
    errors += _validate_attributes_class(spec, path)
    return errors


def _validate_inline(spec: Tree, path: Path) -> Iterator[FieldError]:
    if spec.get("claimRef") is not None:
        yield field.forbidden(path.child("claimRef"), _NOT_INLINE)
    if spec.get("capacity"):
        yield field.forbidden(path.child("capacity"), _NOT_INLINE)
    if spec.get("csi") is None:
        yield field.required(path.child("csi"), "has to be specified in the context of inline volumes")


def _validate_policy(spec: Tree, path: Path, *, is_inline: bool) -> Iterator[FieldError]:
    policy, reclaim_policy_path = spec.get("persistentVolumeReclaimPolicy"), path.child("persistentVolumeReclaimPolicy")
    if not policy:
        return
    if is_inline and policy != "Retain":
        yield field.forbidden(reclaim_policy_path, "may only be Retain in the context of inline volumes")
    elif not is_inline and policy not in _POLICIES:
        yield field.not_supported(reclaim_policy_path, policy, _POLICIES)


def _validate_class_and_mode(spec: Tree, path: Path, *, is_inline: bool) -> Iterator[FieldError]:
    if name := spec.get("storageClassName"):
        if is_inline:
            yield field.forbidden(path.child("storageClassName"), _NOT_INLINE)
        else:
            yield from validate_dns_subdomain(name, path.child("storageClassName"))
    mode, volume_mode_path = spec.get("volumeMode"), path.child("volumeMode")
    if mode is None:
        return
    if is_inline and mode != "Filesystem":
        detail = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        yield field.forbidden(volume_mode_path, detail)
    elif not is_inline and mode not in VOLUME_MODES:
        yield field.not_supported(volume_mode_path, mode, VOLUME_MODES)


def _validate_capacity(spec: Tree, path: Path) -> Iterator[FieldError]:
    capacity = spec.get("capacity")
    if not capacity:
        yield field.required(path)
    if not capacity or set(capacity) != {"storage"}:
        shown = capacity and dict(sorted(capacity.items()))
        yield field.not_supported(path, shown, ("storage",))
    for name, amount in sorted((capacity or {}).items()):
        if int(parse(amount)) < 0:
            yield field.invalid(path.key(name), int(parse(amount)), "must be a valid resource quantity")
        yield from check_positive_quantity(amount, path.key(name))


def _validate_node_affinity(spec: Tree, path: Path, *, is_inline: bool) -> Iterator[FieldError]:
    affinity = spec.get("nodeAffinity")
    if affinity is None:
        return
    if is_inline:
        yield field.forbidden(path, _NOT_INLINE)
    elif (required := affinity.get("required")) is None:
        yield field.required(path.child("required"), "must specify required node constraints")
    else:
        yield from validate_node_selector(required, path.child("required"))


def _validate_sources(spec: Tree, path: Path, volume_name: str) -> Iterator[FieldError]:
    names = [name for name in SOURCES if spec.get(name) is not None]
    if not names:
        yield field.required(path, "must specify a volume type")
    for number, name in enumerate(names):
        shown = {"gcePersistentDisk": "persistentDisk"}.get(name, name)
        if number and name != "flexVolume":  # upstream counts flex volumes, but does not reject them
            yield field.forbidden(path.child("cephFS" if name == "cephfs" else name), _MORE_THAN_ONE)
            continue
        if name == "iscsi":
            yield from _check_iscsi(spec[name], path.child(shown), volume_name)
        else:
            yield from SOURCES[name](spec[name], path.child(shown))
        if name == "local" and spec.get("nodeAffinity") is None:
            yield field.required(path.child("nodeAffinity"), "Local volume requires node affinity")
    host_path = (spec.get("hostPath") or {}).get("path")
    is_root = host_path and posixpath.normpath(host_path).strip("/") == ""
    if is_root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        yield field.forbidden(path.child("persistentVolumeReclaimPolicy"), detail)


def _validate_attributes_class(spec: Tree, path: Path) -> Iterator[FieldError]:
    attributes = spec.get("volumeAttributesClassName")
    if attributes is None:
        return
    if not attributes:
        yield field.required(path.child("volumeAttributesClassName"), "an empty string is disallowed")
    else:
        yield from validate_dns_subdomain(attributes, path.child("volumeAttributesClassName"))
    if spec.get("csi") is None:
        yield field.required(path.child("csi"), "has to be specified when using volumeAttributesClassName")
