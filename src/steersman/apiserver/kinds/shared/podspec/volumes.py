"""Defaults of volumes by source. Upstream: ``SetDefaults_Volume`` and ``SetDefaults_*VolumeSource``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.kinds.shared.podspec.images import default_pull_policy
from steersman.apiserver.kinds.shared.podspec.resources import default_resource_requirements

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree

#: 0644, for files of ConfigMaps, Secrets and projections.
_FILE_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600


def default_volume(volume: Tree) -> None:
    """Default a volume of a Pod; without a source it becomes an ``emptyDir``."""
    bare = True
    for name, source in volume.items():
        if name == "name":
            continue
        bare = False
        fill = _BY_SOURCE.get(name)
        if fill is not None:
            fill(source)
    if bare:
        volume["emptyDir"] = {}


def default_persistent_source(spec: Tree) -> None:
    """Default the source of a PersistentVolume."""
    for name, fill in _BY_PERSISTENT_SOURCE.items():
        source = spec.get(name)
        if source is not None:
            fill(source)


def default_claim_spec(spec: Tree) -> None:
    """Default the spec of a claim or claim template."""
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    resources = spec.get("resources")
    if resources is None:
        spec["resources"] = {}
    else:
        default_resource_requirements(resources)


def default_field_ref(field_ref: Tree) -> None:
    """Default ``apiVersion`` of a field reference to v1."""
    if not field_ref.get("apiVersion"):
        field_ref["apiVersion"] = "v1"


def default_resource_field_ref(resource_field_ref: Tree) -> None:
    """Default ``divisor`` of a resource reference to 0."""
    if resource_field_ref.get("divisor") is None:
        resource_field_ref["divisor"] = "0"


def _empty_texts(**defaults: str) -> Callable[[Tree], None]:
    """Return a defaulting function for absent or empty strings."""

    def fill(source: Tree) -> None:
        for key, value in defaults.items():
            if not source.get(key):
                source[key] = value

    return fill


def _absent(**defaults: Any) -> Callable[[Tree], None]:
    """Return a defaulting function for absent values; explicit empty ones are kept."""

    def fill(source: Tree) -> None:
        for key, value in defaults.items():
            if source.get(key) is None:
                source[key] = value

    return fill


_file_mode: Final = _absent(defaultMode=_FILE_MODE)
_token_seconds: Final = _absent(expirationSeconds=_TOKEN_SECONDS)


def _downward_files(source: Tree) -> None:
    for item in source.get("items") or ():
        if (ref := item.get("fieldRef")) is not None:
            default_field_ref(ref)
        if (ref := item.get("resourceFieldRef")) is not None:
            default_resource_field_ref(ref)


def _downward_api(source: Tree) -> None:
    _file_mode(source)
    _downward_files(source)


def _projected(source: Tree) -> None:
    _file_mode(source)
    for part in source.get("sources") or ():
        if (token := part.get("serviceAccountToken")) is not None:
            _token_seconds(token)
        if (files := part.get("downwardAPI")) is not None:
            _downward_files(files)


def _image(source: Tree) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = default_pull_policy(source.get("reference") or "")


def _ephemeral(source: Tree) -> None:
    template = source.get("volumeClaimTemplate")
    if template is not None:
        template.setdefault("metadata", {})
        default_claim_spec(template.setdefault("spec", {}))


_BY_PERSISTENT_SOURCE: Final[dict[str, Callable[[Tree], None]]] = {
    "hostPath": _absent(type=""),
    "iscsi": _empty_texts(iscsiInterface="default"),
    "rbd": _empty_texts(pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "scaleIO": _empty_texts(storageMode="ThinProvisioned", fsType="xfs"),
    "azureDisk": _absent(cachingMode="ReadWrite", kind="Shared", fsType="ext4", readOnly=False),
}
_BY_SOURCE: Final[dict[str, Callable[[Tree], None]]] = {
    **_BY_PERSISTENT_SOURCE,
    "secret": _file_mode,
    "configMap": _file_mode,
    "downwardAPI": _downward_api,
    "projected": _projected,
    "ephemeral": _ephemeral,
    "image": _image,
}
