"""Validation of PersistentVolumes.

Sources that Pods have too are validated in ``kinds/shared/podspec/validate_sources.py``.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.quantity import parse
from steersman.apiserver.kinds.shared.go_form import go_diff, go_form
from steersman.apiserver.kinds.shared.podspec import validate_sources as sources
from steersman.apiserver.kinds.shared.podspec.validate_claims import (
    VOLUME_MODES,
    check_access_modes,
    check_positive_quantity,
)
from steersman.apiserver.kinds.shared.podspec.validate_placement import validate_node_selector
from steersman.apiserver.kinds.shared.validation import (
    FIELD_IS_IMMUTABLE,
    check_unchanged,
    validate_dns_label,
    validate_dns_subdomain,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_POLICIES: Final = ("Delete", "Recycle", "Retain")
_MORE_THAN_ONE: Final = "may not specify more than 1 volume type"
_CSI_SECRETS: Final = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)
#: Deprecated node labels and their replacements.
_RENAMED_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


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
        where = path.child("endpointsNamespace")
        if not namespace:
            detail = "if the endpointnamespace is set, it must be a valid namespace name"
            yield field.invalid(where, namespace, detail)
        else:
            yield from validate_dns_label(namespace, where)


def _check_azure_file(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from sources.check_azure_file(source, path)
    if source.get("secretNamespace") == "":
        yield field.required(path.child("secretNamespace"))


def _check_iscsi(source: Tree, path: Path) -> Iterator[FieldError]:
    if not source.get("targetPortal"):
        yield field.required(path.child("targetPortal"))
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


_SOURCES: Final[dict[str, Callable[[Tree, Path], Iterator[FieldError]]]] = {
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


# -- PersistentVolumes ------------------------------------------------------------------------------------------------


def validate_volume(obj: Tree) -> list[FieldError]:
    """Validate a PersistentVolume. Upstream: ``ValidatePersistentVolume``."""
    spec = obj["spec"]
    errors: list[FieldError] = []
    if not spec.get("accessModes"):
        errors.append(field.required(_SPEC.child("accessModes")))
    errors += check_access_modes(spec.get("accessModes"), _SPEC.child("accessModes"))
    errors += _validate_capacity(spec)
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in _POLICIES:
        errors.append(field.not_supported(_SPEC.child("persistentVolumeReclaimPolicy"), policy, _POLICIES))
    errors += _validate_node_affinity(spec)
    errors += _validate_sources(spec, obj["metadata"].get("name") or "")
    errors += _validate_classes_and_mode(spec)
    return errors


def _validate_capacity(spec: Tree) -> Iterator[FieldError]:
    capacity = spec.get("capacity")
    path = _SPEC.child("capacity")
    if not capacity:
        yield field.required(path)
    if not capacity or set(capacity) != {"storage"}:
        shown = capacity and dict(sorted(capacity.items()))
        yield field.not_supported(path, shown, ("storage",))
    for name, amount in sorted((capacity or {}).items()):
        if int(parse(amount)) < 0:
            yield field.invalid(path.key(name), int(parse(amount)), "must be a valid resource quantity")
        yield from check_positive_quantity(amount, path.key(name))


def _validate_node_affinity(spec: Tree) -> Iterator[FieldError]:
    affinity = spec.get("nodeAffinity")
    if affinity is None:
        return
    required = affinity.get("required")
    path = _SPEC.child("nodeAffinity", "required")
    if required is None:
        yield field.required(path, "must specify required node constraints")
    else:
        yield from validate_node_selector(required, path)


def _validate_sources(spec: Tree, volume_name: str) -> Iterator[FieldError]:
    sources = [name for name in _SOURCES if spec.get(name) is not None]
    if not sources:
        yield field.required(_SPEC, "must specify a volume type")
    for number, name in enumerate(sources):
        shown = {"gcePersistentDisk": "persistentDisk"}.get(name, name)
        if number and name != "flexVolume":  # upstream counts flex volumes, but does not reject them
            yield field.forbidden(_SPEC.child("cephFS" if name == "cephfs" else name), _MORE_THAN_ONE)
            continue
        yield from _SOURCES[name](spec[name], _SPEC.child(shown))
        if name == "iscsi":
            yield from _validate_iscsi_length(spec[name], volume_name)
        if name == "local" and spec.get("nodeAffinity") is None:
            yield field.required(_SPEC.child("nodeAffinity"), "Local volume requires node affinity")
    host_path = (spec.get("hostPath") or {}).get("path")
    if host_path and posixpath.normpath(host_path).strip("/") == "" and _is_recycled(spec):
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        yield field.forbidden(_SPEC.child("persistentVolumeReclaimPolicy"), detail)


def _validate_iscsi_length(source: Tree, volume_name: str) -> Iterator[FieldError]:
    portal = source.get("targetPortal") or ""
    if source.get("initiatorName") is not None and len(f"{volume_name}:{portal}") > sources.ISCSI_LENGTH_MAX:
        yield field.invalid(_SPEC.child("iscsi", "targetportal"), portal, sources.ISCSI_TOO_LONG)


def _is_recycled(spec: Tree) -> bool:
    return spec.get("persistentVolumeReclaimPolicy") == "Recycle"


def _validate_classes_and_mode(spec: Tree) -> Iterator[FieldError]:
    if name := spec.get("storageClassName"):
        yield from validate_dns_subdomain(name, _SPEC.child("storageClassName"))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        yield field.not_supported(_SPEC.child("volumeMode"), mode, VOLUME_MODES)
    attributes = spec.get("volumeAttributesClassName")
    if attributes is None:
        return
    path = _SPEC.child("volumeAttributesClassName")
    if not attributes:
        yield field.required(path, "an empty string is disallowed")
    else:
        yield from validate_dns_subdomain(attributes, path)
    if spec.get("csi") is None:
        yield field.required(_SPEC.child("csi"), "has to be specified when using volumeAttributesClassName")


def validate_volume_update(obj: Tree, old: Tree) -> list[FieldError]:
    """Validate an update: source and ``volumeMode`` are immutable, as is the node affinity once set."""
    spec, before = obj["spec"], old["spec"]
    errors = validate_volume(obj)
    source = {name: spec[name] for name in _SOURCES if spec.get(name) is not None}
    if "csi" in source and before.get("csi") is not None and before["csi"].get("controllerExpandSecretRef") is None:
        source["csi"] = {k: v for k, v in source["csi"].items() if k != "controllerExpandSecretRef"}
    if source != {name: before[name] for name in _SOURCES if before.get(name) is not None}:
        diff = go_diff("PersistentVolumeSource", before, source)
        detail = f"spec.persistentvolumesource is immutable after creation\n{diff}"
        errors.append(field.forbidden(_SPEC.child("persistentvolumesource"), detail))
    errors += check_unchanged(spec.get("volumeMode"), before.get("volumeMode"), field.Path("volumeMode"))
    affinity = before.get("nodeAffinity")
    if affinity is not None and not _is_same_affinity(spec.get("nodeAffinity"), affinity):
        detail = f"{FIELD_IS_IMMUTABLE}, except for updating from beta label to GA"
        errors.append(field.invalid("nodeAffinity", _go_affinity(spec.get("nodeAffinity")), detail))
    if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        detail = "update from non-nil value to nil is forbidden"
        errors.append(field.forbidden(_SPEC.child("volumeAttributesClassName"), detail))
    return errors


def _go_affinity(affinity: Tree | None) -> Tree | None:
    return None if affinity is None else go_form("VolumeNodeAffinity", affinity)


def _is_same_affinity(new: Any, old: Any) -> bool:
    """Report whether two node affinities are equal but for deprecated labels replaced by their current names."""
    if isinstance(new, dict) and isinstance(old, dict):
        if new.get("key") != old.get("key") and _RENAMED_LABELS.get(old.get("key", "")) == new.get("key"):
            old = {**old, "key": new["key"]}
        return new.keys() == old.keys() and all(_is_same_affinity(value, old[key]) for key, value in new.items())
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(_is_same_affinity, new, old))
    return bool(new == old)
