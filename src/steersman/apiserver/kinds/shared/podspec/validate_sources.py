"""Validation of volume sources of Pods and PersistentVolumes."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.validation import (
    check_all,
    check_supported,
    validate_dns_label,
    validate_dns_subdomain,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

    Check = Callable[[Tree, Path], Iterator[FieldError]]

PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
MODE_WRONG: Final = "must be a number between 0 and 0777 (octal), both inclusive"
#: Limit of the lengths of volume name, portal and separators, if an initiator name is set.
ISCSI_LENGTH_MAX: Final = 64
ISCSI_TOO_LONG: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)
_PARTITION_WRONG: Final = "must be between 1 and 255, inclusive"
_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_ISCSI_NAMES: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9-.]+)(:[^,;*&$|\s]+)", re.ASCII),
    "eui": re.compile(r"eui.[a-zA-Z0-9]{16}", re.ASCII),
    "naa": re.compile(r"naa.[a-zA-Z0-9]{32}", re.ASCII),
}
_MANAGED_DISK: Final = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
)
_BLOB_DISK: Final = ("https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",)


# -- paths and modes --------------------------------------------------------------------------------------------------


def check_no_backsteps(text: str, path: Path) -> Iterator[FieldError]:
    """Reject paths with ``..`` components. Upstream: ``validatePathNoBacksteps``."""
    if ".." in text.split("/"):
        yield field.invalid(path, text, "must not contain '..'")


def check_descending_path(text: str, path: Path) -> Iterator[FieldError]:
    """Validate a relative path without ``..``. Upstream: ``validateLocalDescendingPath``."""
    if posixpath.isabs(text):
        yield field.invalid(path, text, "must be a relative path")
    yield from check_no_backsteps(text, path)


def check_file_path(text: str, path: Path) -> Iterator[FieldError]:
    """Validate a relative path without ``..`` whose names do not begin with ``..``, which the kubelet reserves."""
    yield from check_descending_path(text, path)
    if text.startswith("..") and not text.startswith("../"):
        yield field.invalid(path, text, "must not start with '..'")


def check_mode(mode: int | None, path: Path) -> Iterator[FieldError]:
    """Validate the permission bits of a file."""
    if mode is not None and not 0 <= mode <= 0o777:
        yield field.invalid(path, mode, MODE_WRONG)


def check_key_paths(items: Sequence[Tree] | None, path: Path) -> Iterator[FieldError]:
    """Validate the items of a Secret or ConfigMap volume: keys and paths."""
    for position, item in enumerate(items or ()):
        yield from check_key_path(item, path.index(position))


def check_key_path(item: Tree, path: Path) -> Iterator[FieldError]:
    """Validate an item of a Secret or ConfigMap volume."""
    yield from _required(item, path, "key", "path")
    yield from check_file_path(item.get("path") or "", path.child("path"))
    yield from check_mode(item.get("mode"), path.child("mode"))


def _required(source: Tree, path: Path, *names_: str) -> Iterator[FieldError]:
    for name in names_:
        if not source.get(name):
            yield field.required(path.child(name))


def _required_check(*names_: str) -> Check:
    """Return a check that only requires fields to be set."""

    def check(source: Tree, path: Path) -> Iterator[FieldError]:
        yield from _required(source, path, *names_)

    return check


def check_secret_ref(source: Tree, path: Path, *, with_namespace: bool = False) -> Iterator[FieldError]:
    """Validate that ``secretRef`` has a name."""
    ref = source.get("secretRef")
    if ref is not None:
        yield from _required(ref, path.child("secretRef"), "name", *(("namespace",) if with_namespace else ()))


# -- sources ----------------------------------------------------------------------------------------------------------


def check_host_path(source: Tree, path: Path) -> Iterator[FieldError]:
    if not source.get("path"):
        yield field.required(path.child("path"))
        return
    yield from check_no_backsteps(source["path"], path.child("path"))
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        yield field.not_supported(path.child("type"), kind, _HOST_PATH_TYPES)


def check_git_repo(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _required(source, path, "repository")
    yield from check_descending_path(source.get("directory") or "", path.child("directory"))


def check_gce_disk(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _required(source, path, "pdName")
    yield from _check_partition(source, path)


def check_aws_disk(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _required(source, path, "volumeID")
    yield from _check_partition(source, path)


def _check_partition(source: Tree, path: Path) -> Iterator[FieldError]:
    partition = source.get("partition") or 0
    if not 0 <= partition <= 255:
        yield field.invalid(path.child("partition"), partition, _PARTITION_WRONG)


def check_secret(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _required(source, path, "secretName")
    yield from check_mode(source.get("defaultMode"), path.child("defaultMode"))
    yield from check_key_paths(source.get("items"), path.child("items"))


def check_config_map(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _required(source, path, "name")
    yield from check_mode(source.get("defaultMode"), path.child("defaultMode"))
    yield from check_key_paths(source.get("items"), path.child("items"))


def check_nfs(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _required(source, path, "server", "path")
    if not posixpath.isabs(source.get("path") or ""):
        yield field.invalid(path.child("path"), source.get("path") or "", "must be an absolute path")


def check_iscsi(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _required(source, path, "targetPortal")
    yield from check_iscsi_rest(source, path, unknown="must be valid format starting with iqn, eui, or naa")


def check_iscsi_rest(source: Tree, path: Path, *, unknown: str) -> Iterator[FieldError]:
    """Validate an iSCSI source without its portal. ``unknown``: detail of the error about the IQN's format."""
    name = source.get("iqn")
    if not name:
        yield field.required(path.child("iqn"))
    else:
        yield from _check_iscsi_name(name, path.child("iqn"), unknown)
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        yield from check_all(path.child("lun"), lun, names.check_in_range(lun, 0, 255))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        yield field.required(path.child("secretRef"))
    initiator = source.get("initiatorName")
    if initiator is not None:
        yield from _check_iscsi_name(initiator, path.child("initiatorname"), unknown)


def _check_iscsi_name(name: str, path: Path, unknown: str) -> Iterator[FieldError]:
    pattern = _ISCSI_NAMES.get(name[:3])
    if pattern is None:
        yield field.invalid(path, name, unknown)
    elif not pattern.fullmatch(name):
        yield field.invalid(path, name, "must be valid format")


def check_flocker(source: Tree, path: Path) -> Iterator[FieldError]:
    name, uuid = source.get("datasetName"), source.get("datasetUUID")
    if not name and not uuid:
        yield field.required(path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        yield field.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if name and "/" in name:
        yield field.invalid(path.child("datasetName"), name, "must not contain '/'")


def check_quobyte(source: Tree, path: Path) -> Iterator[FieldError]:
    detail = "must be a host:port pair or multiple pairs separated by commas"
    registry = source.get("registry")
    if not registry:
        yield field.required(path.child("registry"), detail)
    elif len(source.get("tenant") or "") >= 65:
        yield field.required(path.child("tenant"), "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if pair.count(":") != 1 and not re.fullmatch(r"\[[^\]]*\]:[^:]*", pair):
                yield field.invalid(path.child("registry"), registry, detail)
    yield from _required(source, path, "volume")


def check_fc(source: Tree, path: Path) -> Iterator[FieldError]:
    targets, ids = source.get("targetWWNs"), source.get("wwids")
    target_wwns_path = path.child("targetWWNs")
    if not targets and not ids:
        yield field.required(target_wwns_path, "must specify either targetWWNs or wwids, but not both")
    if targets and ids:
        yield field.invalid(target_wwns_path, targets, "targetWWNs and wwids can not be specified simultaneously")
    if targets:
        lun = source.get("lun")
        if lun is None:
            yield field.required(path.child("lun"), "lun is required if targetWWNs is specified")
        else:
            yield from check_all(path.child("lun"), lun, names.check_in_range(lun, 0, 255))


def check_flex_volume(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _required(source, path, "driver")
    for key in source.get("options") or ():
        namespace = f".{key.partition('/')[0].lower()}"
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            yield field.invalid(path.child("options").key(key), key, "kubernetes.io and k8s.io namespaces are reserved")


def check_cinder(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _required(source, path, "volumeID")
    yield from check_secret_ref(source, path)


def check_azure_disk(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from _required(source, path, "diskName", "diskURI")
    caching, kind = source.get("cachingMode"), source.get("kind")
    if caching is not None and caching not in ("None", "ReadOnly", "ReadWrite"):
        yield field.not_supported(path.child("cachingMode"), caching, ("None", "ReadOnly", "ReadWrite"))
    if kind is not None and kind not in ("Dedicated", "Managed", "Shared"):
        yield field.not_supported(path.child("kind"), kind, ("Dedicated", "Managed", "Shared"))
    uri = source.get("diskURI") or ""
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        yield field.not_supported(path.child("diskURI"), uri, _MANAGED_DISK)
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        yield field.not_supported(path.child("diskURI"), uri, _BLOB_DISK)


def check_storage_os(source: Tree, path: Path) -> Iterator[FieldError]:
    name, namespace = source.get("volumeName"), source.get("volumeNamespace")
    if not name:
        yield field.required(path.child("volumeName"))
    else:
        yield from validate_dns_label(name, path.child("volumeName"))
    if namespace:
        yield from validate_dns_label(namespace, path.child("volumeNamespace"))
    yield from check_secret_ref(source, path)


def check_csi_driver_name(name: str, path: Path) -> Iterator[FieldError]:
    """Validate a CSI driver name: up to 63 bytes, a DNS subdomain in any case."""
    if not name:
        yield field.required(path)
        return
    if len(name) > 63:
        yield field.too_long(path, max_bytes=63)
    yield from check_all(path, name, names.check_dns1123_subdomain(name.lower()))


def check_csi(source: Tree, path: Path) -> Iterator[FieldError]:
    yield from check_csi_driver_name(source.get("driver") or "", path.child("driver"))
    ref = source.get("nodePublishSecretRef")
    if ref is not None:
        if not ref.get("name"):
            yield field.required(path.child("nodePublishSecretRef", "name"))
        else:
            yield from validate_dns_subdomain(ref["name"], path.child("name"))


def check_pull_policy(policy: Any, path: Path) -> Iterator[FieldError]:
    """Validate an image pull policy."""
    yield from check_supported(policy, PULL_POLICIES, path)


check_claim: Final = _required_check("claimName")
check_glusterfs: Final = _required_check("endpoints", "path")
check_rbd: Final = _required_check("monitors", "image")
check_cephfs: Final = _required_check("monitors")
check_azure_file: Final = _required_check("secretName", "shareName")
check_vsphere: Final = _required_check("volumePath")
check_photon: Final = _required_check("pdID")
check_portworx: Final = _required_check("volumeID")
check_scale_io: Final = _required_check("gateway", "system", "volumeName")
