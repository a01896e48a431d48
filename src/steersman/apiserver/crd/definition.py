"""Reader of CustomResourceDefinitions: one ``CustomVersion`` for each version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.crd import structure
from steersman.schema.openapi_types import from_openapi
from steersman.schema.resources import Resource, Subresource

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct


#: Verbs in upstream's order.
_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")
_ANYTHING: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class CustomVersion(msgspec.Struct, frozen=True):
    """One version of a custom resource."""

    resource: Resource
    struct: Struct
    #: The structural schema of the whole object.
    schema: Tree
    columns: tuple[Tree, ...]
    selectable_fields: tuple[str, ...]
    #: ``specReplicasPath`` and so on, None without the scale subresource.
    scale: Tree | None
    has_status: bool
    has_defaults: bool
    #: True for the storage version.
    is_stored: bool
    is_served: bool


def _storage_version(definition: Tree) -> str:
    """Return the name of the storage version."""
    versions = definition["spec"].get("versions") or ()
    return next((str(v["name"]) for v in versions if v.get("storage")), "")


def all_versions(definition: Tree) -> dict[str, CustomVersion]:
    """Return all versions, served or not, by apiVersion."""
    versions = [_version(definition, version) for version in definition["spec"]["versions"]]
    return {version.resource.api_version: version for version in versions}


def is_established(definition: Tree) -> bool:
    """True if the definition's resource is to be served."""
    return condition_is(definition, "Established", "True")


def condition_is(definition: Tree, type_: str, status: str) -> bool:
    """True if a condition of the definition has the status."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == type_ and c.get("status") == status for c in conditions)


def _version(definition: Tree, version: Tree) -> CustomVersion:
    spec = definition["spec"]
    group, name = spec["group"], version["name"]
    names = definition["status"].get("acceptedNames") or spec["names"]
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or _ANYTHING
    if spec.get("preserveUnknownFields"):
        schema = {**schema, "x-kubernetes-preserve-unknown-fields": True}
    subresources = version.get("subresources") or {}
    kind = names["kind"]
    stored = _storage_version(definition)
    resource = Resource(
        group,
        name,
        names["plural"],
        kind,
        names.get("singular", ""),
        namespaced=spec["scope"] == "Namespaced",
        verbs=_VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=_subresources(kind, group, name, subresources),
        key_prefix=f"/registry/{group}/{names['plural']}",
        storage_api_version=f"{group}/{stored}",
        deprecation_warning=_deprecation(version, group, kind),
    )
    return CustomVersion(
        resource,
        from_openapi(schema, kind),
        schema,
        columns=tuple(version.get("additionalPrinterColumns") or ()),
        selectable_fields=tuple(f["jsonPath"] for f in version.get("selectableFields") or ()),
        scale=subresources.get("scale"),
        has_status="status" in subresources,
        has_defaults=structure.has_defaults(schema),
        is_stored=bool(version.get("storage")),
        is_served=bool(version.get("served")),
    )


def _subresources(kind: str, group: str, version: str, subresources: Tree) -> tuple[Subresource, ...]:
    found = []
    if "status" in subresources:
        found.append(Subresource("status", kind, _SUBRESOURCE_VERBS, group, version))
    if "scale" in subresources:
        found.append(Subresource("scale", "Scale", _SUBRESOURCE_VERBS, "autoscaling", "v1"))
    return tuple(found)


def _deprecation(version: Tree, group: str, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    default = f"{group}/{version['name']} {kind} is deprecated"
    return str(version.get("deprecationWarning") or default)
