"""Reader of CustomResourceDefinitions: one ``CustomVersion`` for each version."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.apiserver.crd.lazy_schema import LazySchema
from steersman.schema.resources import Resource, Subresource

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.apiextensions.customresourcedefinition.shape import Shape


#: Verbs in upstream's order.
_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")
_ANYTHING: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class CustomVersion:
    """One version of a custom resource. Its schema is decoded and compiled on first use."""

    __slots__ = (
        "columns",
        "defaults_status",
        "has_status",
        "is_served",
        "is_stored",
        "resource",
        "scale",
        "schema",
    )

    def __init__(self, resource: Resource, version: Tree, schema: LazySchema) -> None:
        """``version``: item of ``spec.versions``."""
        subresources = version.get("subresources") or {}
        self.resource: Final = resource
        #: The structural schema of the whole object.
        self.schema: Final = schema
        self.columns: Final[tuple[Tree, ...]] = tuple(version.get("additionalPrinterColumns") or ())
        #: ``specReplicasPath`` and so on, None without the scale subresource.
        self.scale: Final[Tree | None] = subresources.get("scale")
        self.has_status: Final = "status" in subresources
        #: True if objects without a status have one when they are read, although their creation drops it.
        self.defaults_status: Final = self.has_status and _has_status_default(version)
        #: True for the storage version.
        self.is_stored: Final = bool(version.get("storage"))
        self.is_served: Final = bool(version.get("served"))

    @property
    def has_defaults(self) -> bool:
        """True if the schema has defaults."""
        return self.schema.has_defaults

    @property
    def shape(self) -> Shape:
        """Return the schema for defaulting and dropping of nulls."""
        return self.schema.shape


def _storage_version(definition: Tree) -> str:
    """Return the name of the storage version."""
    versions = definition["spec"].get("versions") or ()
    return next((str(v["name"]) for v in versions if v.get("storage")), "")


def all_versions(definition: Tree, load: Callable[[], Tree] | None = None) -> dict[str, CustomVersion]:
    """Return all versions, served or not, by apiVersion.

    ``load`` returns the definition as it is stored; with it, schemas are not kept but loaded on their first use.
    """
    load = load or partial(_same, definition)
    versions = [_version(definition, number, load) for number in range(len(definition["spec"]["versions"]))]
    return {version.resource.api_version: version for version in versions}


def is_established(definition: Tree) -> bool:
    """True if the definition's resource is to be served."""
    return condition_is(definition, "Established", "True")


def condition_is(definition: Tree, type_: str, status: str) -> bool:
    """True if a condition of the definition has the status."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == type_ and c.get("status") == status for c in conditions)


def _same(definition: Tree) -> Tree:
    return definition


def _schema(load: Callable[[], Tree], number: int) -> Tree:
    """Return the schema of a version."""
    spec = load()["spec"]
    schema: Tree = (spec["versions"][number].get("schema") or {}).get("openAPIV3Schema") or _ANYTHING
    return {**schema, "x-kubernetes-preserve-unknown-fields": True} if spec.get("preserveUnknownFields") else schema


def _version(definition: Tree, number: int, load: Callable[[], Tree]) -> CustomVersion:
    spec = definition["spec"]
    version = spec["versions"][number]
    group, name = spec["group"], version["name"]
    names = definition["status"].get("acceptedNames") or spec["names"]
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
        declared_list_kind=names.get("listKind") or "",
        selectable_fields=tuple(str(f["jsonPath"]) for f in version.get("selectableFields") or ()),
    )
    schema = LazySchema(partial(_schema, load, number), kind)
    return CustomVersion(resource, version, schema)


def _has_status_default(version: Tree) -> bool:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    status = (schema.get("properties") or {}).get("status") or {}
    return status.get("default") is not None


def _subresources(kind: str, group: str, version: str, subresources: Tree) -> tuple[Subresource, ...]:
    declared = []
    if "status" in subresources:
        declared.append(Subresource("status", kind, _SUBRESOURCE_VERBS, group, version))
    if "scale" in subresources:
        declared.append(Subresource("scale", "Scale", _SUBRESOURCE_VERBS, "autoscaling", "v1"))
    return tuple(declared)


def _deprecation(version: Tree, group: str, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    default = f"{group}/{version['name']} {kind} is deprecated"
    return str(version.get("deprecationWarning") or default)
