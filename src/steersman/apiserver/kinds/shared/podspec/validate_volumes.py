"""Validation of a Pod's volumes. Sources are validated by ``validate_sources.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.kinds.shared.podspec import validate_sources as sources
from steersman.apiserver.kinds.shared.podspec.validate_claims import validate_claim_spec
from steersman.apiserver.kinds.shared.podspec.validate_env import (
    VOLUME_FIELDS,
    check_object_field,
    check_resource_field,
)
from steersman.apiserver.kinds.shared.validation import validate_dns_label, validate_template_object_meta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.podspec.rules import PodRules

_MORE_THAN_ONE: Final = "may not specify more than 1 volume type"
_PATH_TAKEN: Final = "conflicting duplicate paths"
_TOKEN_SECONDS: Final = (600, 1 << 32)

#: Sources in upstream's order: field → check, and names in error paths if they differ (second source, invalid source).
_SIMPLE: Final[dict[str, Callable[[Tree, Path], Iterator[FieldError]]]] = {
    "hostPath": sources.check_host_path,
    "gitRepo": sources.check_git_repo,
    "gcePersistentDisk": sources.check_gce_disk,
    "awsElasticBlockStore": sources.check_aws_disk,
    "secret": sources.check_secret,
    "nfs": sources.check_nfs,
    "iscsi": sources.check_iscsi,
    "glusterfs": sources.check_glusterfs,
    "flocker": sources.check_flocker,
    "persistentVolumeClaim": sources.check_claim,
    "rbd": sources.check_rbd,
    "cinder": sources.check_cinder,
    "cephfs": sources.check_cephfs,
    "quobyte": sources.check_quobyte,
    "fc": sources.check_fc,
    "flexVolume": sources.check_flex_volume,
    "configMap": sources.check_config_map,
    "azureFile": sources.check_azure_file,
    "vsphereVolume": sources.check_vsphere,
    "photonPersistentDisk": sources.check_photon,
    "portworxVolume": sources.check_portworx,
    "azureDisk": sources.check_azure_disk,
    "storageos": sources.check_storage_os,
    "scaleIO": sources.check_scale_io,
    "csi": sources.check_csi,
}
_ORDER: Final = (
    "emptyDir",
    *tuple(_SIMPLE)[:14],
    "downwardAPI",
    *tuple(_SIMPLE)[14:23],
    "projected",
    *tuple(_SIMPLE)[23:],
    "ephemeral",
    "image",
)
_PLACE: Final = {name: place for place, name in enumerate(_ORDER)}
#: Path elements of errors in a source, and of errors about a second source, if they differ from the field name.
_FAULT_NAMES: Final = {"gcePersistentDisk": "persistentDisk"}
_SURPLUS_NAMES: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def validate_volumes(spec: Tree, path: Path, rules: PodRules) -> tuple[list[FieldError], dict[str, Tree]]:
    """Validate the volumes. Returns errors, and valid volumes by name for the validation of mounts."""
    errors: list[FieldError] = []
    usable: dict[str, Tree] = {}
    volumes = spec.get("volumes") or ()
    pod_name = rules.pod_name
    ephemeral_claims = {
        f"{pod_name}-{v.get('name', '')}" for v in volumes if pod_name and v.get("ephemeral") is not None
    }
    for position, volume in enumerate(volumes):
        item_path = path.index(position)
        name = volume.get("name") or ""
        faults = list(_validate_source(volume, item_path, rules))
        if not name:
            faults.append(field.required(item_path.child("name")))
        else:
            faults += validate_dns_label(name, item_path.child("name"))
        if name in usable:
            faults.append(field.duplicate(item_path.child("name"), name))
        if not faults:
            usable[name] = volume
        errors += faults
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in ephemeral_claims:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(field.invalid(item_path.child("persistentVolumeClaim", "claimName"), claim, detail))
    return errors, usable


def _validate_source(volume: Tree, path: Path, rules: PodRules) -> Iterator[FieldError]:
    sources = sorted((name for name in volume if name in _PLACE), key=_PLACE.__getitem__)
    if not sources:
        yield field.required(path, "must specify a volume type")
        return
    for number, name in enumerate(sources):
        source = volume[name]
        if number:
            yield field.forbidden(path.child(_SURPLUS_NAMES.get(name, name)), _MORE_THAN_ONE)
            if name == "iscsi":  # as upstream, this check does not depend on the number of sources
                yield from _check_iscsi_length(volume, path)
            continue
        if simple := _SIMPLE.get(name):
            yield from simple(source, path.child(_FAULT_NAMES.get(name, name)))
        else:
            yield from _validate_special(name, source, path.child(name), rules)
        if name == "iscsi":
            yield from _check_iscsi_length(volume, path)
        if name == "ephemeral":
            yield from _check_claim_name(volume.get("name") or "", path.child("name"), rules)


def _validate_special(name: str, source: Tree, path: Path, rules: PodRules) -> Iterator[FieldError]:
    match name:
        case "emptyDir":
            limit = source.get("sizeLimit")
            if limit is not None and parse(limit) < Quantity(0):
                yield field.forbidden(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity")
        case "downwardAPI":
            yield from sources.check_mode(source.get("defaultMode"), path.child("defaultMode"))
            for item in source.get("items") or ():
                yield from _validate_downward_file(item, path)
        case "projected":
            yield from sources.check_mode(source.get("defaultMode"), path.child("defaultMode"))
            yield from _validate_projections(source, path, rules)
        case "ephemeral":
            template = source.get("volumeClaimTemplate")
            if template is None:
                yield field.required(path.child("volumeClaimTemplate"))
            else:
                yield from validate_claim_template(template, path.child("volumeClaimTemplate"))
        case "image":
            if rules.is_pod and not source.get("reference"):
                yield field.required(path.child("reference"))
            yield from sources.check_pull_policy(source.get("pullPolicy"), path.child("pullPolicy"))


def validate_claim_template(template: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the claim template of an ephemeral volume; its metadata may have labels and annotations only."""
    yield from validate_template_object_meta(template.get("metadata") or {}, path.child("metadata"))
    yield from validate_claim_spec(template.get("spec") or {}, path.child("spec"))


def _check_iscsi_length(volume: Tree, path: Path) -> Iterator[FieldError]:
    name, source = volume.get("name") or "", volume["iscsi"]
    if source.get("initiatorName") is None:
        return
    if len(f"{name}:{source.get('targetPortal') or ''}".encode()) > sources.ISCSI_LENGTH_MAX:
        yield field.invalid(path.child("name"), name, sources.ISCSI_TOO_LONG)


def _check_claim_name(volume_name: str, path: Path, rules: PodRules) -> Iterator[FieldError]:
    if rules.pod_name and volume_name:
        claim = f"{rules.pod_name}-{volume_name}"
        for fault in names.check_dns1123_subdomain(claim):
            yield field.invalid(path, volume_name, f"PVC name {quote(claim)}: {fault}")


def _validate_downward_file(item: Tree, path: Path) -> Iterator[FieldError]:
    if not item.get("path"):
        yield field.required(path.child("path"))
    yield from sources.check_file_path(item.get("path") or "", path.child("path"))
    by_field, by_resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if by_field is not None:
        yield from check_object_field(by_field, VOLUME_FIELDS, path.child("fieldRef"))
        if by_resource is not None:
            yield field.invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif by_resource is not None:
        yield from check_resource_field(by_resource, path.child("resourceFieldRef"), needs_container=True)
    else:
        yield field.required(path, "one of fieldRef and resourceFieldRef is required")
    yield from sources.check_mode(item.get("mode"), path.child("mode"))


def _validate_projections(projected: Tree, path: Path, rules: PodRules) -> Iterator[FieldError]:
    """Validate the sources of a projected volume; their paths must not conflict."""
    seen: set[str] = set()

    def claim(file: str, shown: Any) -> Iterator[FieldError]:
        if file in seen:
            yield field.invalid(path, shown, _PATH_TAKEN)
        seen.add(file)

    for position, part in enumerate(projected.get("sources") or ()):
        item_path = path.child("sources").index(position)
        for name in ("secret", "configMap"):
            if (source := part.get(name)) is not None:
                if not source.get("name"):
                    yield field.required(item_path.child(name, "name"))
                for number, item in enumerate(source.get("items") or ()):
                    yield from sources.check_key_path(item, item_path.child(name, "items").index(number))
                    if item.get("path"):
                        yield from claim(item["path"], source.get("name") or "")
        for item in (part.get("downwardAPI") or {}).get("items") or ():
            yield from _validate_downward_file(item, item_path.child("downwardAPI"))
            if item.get("path"):
                yield from claim(item["path"], item["path"])
        if (token := part.get("serviceAccountToken")) is not None:
            yield from _validate_token(token, item_path.child("serviceAccountToken"), path, rules)
        if len(part) > 1:
            yield field.forbidden(item_path, "may not specify more than 1 volume type per source")


def _validate_token(token: Tree, path: Path, volume_path: Path, rules: PodRules) -> Iterator[FieldError]:
    seconds = token.get("expirationSeconds") or 0
    least, most = _TOKEN_SECONDS
    if seconds < least:
        detail = "may not specify a duration less than 10 minutes"
        yield field.invalid(path.child("expirationSeconds"), seconds, detail)
    if seconds > most:
        detail = "may not specify a duration larger than 2^32 seconds"
        yield field.invalid(path.child("expirationSeconds"), seconds, detail)
    file = token.get("path") or ""
    if not file:
        yield field.required(volume_path.child("path"))
    elif not rules.allow_any_token_path:
        yield from sources.check_file_path(file, volume_path.child("path"))
