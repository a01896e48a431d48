"""Builds the documents from the catalog: which operations, which definitions they need."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from steersman.apimachinery.typemodel import Struct
from steersman.apiserver.openapi import documents, operations
from steersman.apiserver.openapi.definitions import GVK, Definitions, Dialect
from steersman.schema import loader
from steersman.schema.descriptions import describe
from steersman.version import __version__

if TYPE_CHECKING:
    from steersman.apiserver.discovery.catalog import Catalog, GroupVersion
    from steersman.schema.resources import Resource

Tree = dict[str, Any]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: Kinds that every group version has; upstream lists each of them under all groups.
_SHARED_KINDS = ("DeleteOptions", "WatchEvent")


class CustomDefinitions(Protocol):
    """The published schemas of custom kinds, by group, version and kind; None for a kind that is not custom."""

    def __call__(self, gvk: GVK, *, v3: bool) -> Tree | None: ...


def definition_name(group: str, version: str, kind: str) -> str:
    """A built-in kind's definition, or the name that upstream derives for a custom one (``com.example.v1.Gadget``)."""
    try:
        return loader.struct_for(group, version, kind).name
    except KeyError:
        return ".".join([*reversed(group.split(".")), version, kind])


class Builder:
    """One build over the catalog as it is now. Slow (up to a second): run it off the event loop."""

    def __init__(self, catalog: Catalog, custom: CustomDefinitions) -> None:
        self._catalog = catalog
        self._custom = custom

    def _group_versions(self) -> list[GroupVersion]:
        core = self._catalog.group("")
        groups = ([core] if core else []) + self._catalog.groups()
        return [version for group in groups for version in group.versions]

    def swagger(self) -> Tree:
        """The Swagger 2.0 document of everything that is served."""
        versions = self._group_versions()
        calls = list(operations.discovery_operations((v.group, v.version) for v in versions))
        for version in versions:
            calls += _calls(version)
        return documents.swagger(calls, self._definitions(versions, v3=False))

    def openapi3_paths(self) -> list[str]:
        """The documents that ``/openapi/v3`` lists."""
        versions = self._group_versions()
        roots = ["api", "apis", "version", ".well-known/openid-configuration", "openid/v1/jwks"]
        groups = sorted({f"apis/{v.group}" for v in versions if v.group})
        return sorted(roots + groups + [_path_of(v) for v in versions])

    def fingerprint(self, path: str) -> str:
        """Changes when the document does (of what it is made of, so that nothing must be built to know it)."""
        versions = [v for v in self._group_versions() if not path or _path_of(v) == path]
        resources = [
            resource for version in versions or self._group_versions() for resource in version.resources.values()
        ]
        custom = [self._custom((r.group, r.version, r.kind), v3=bool(path)) for r in resources if not r.definition]
        digest = hashlib.sha512(f"{__version__} {path}".encode())
        digest.update(msgspec.json.encode([resources, custom]))
        return digest.hexdigest().upper()

    def openapi3(self, path: str) -> Tree | None:
        """One OpenAPI 3.0 document, None when there is no such path."""
        versions = {_path_of(version): version for version in self._group_versions()}
        version = versions.get(path)
        if version is not None:
            own = [(version.group, version.version)]
            calls = [o for o in operations.discovery_operations(own) if o.path == f"/{path}/"]
            return documents.openapi3(calls + _calls(version), self._definitions([version], v3=True))
        every = [(v.group, v.version) for v in versions.values()]
        calls = [o for o in operations.discovery_operations(every) if o.path == f"/{path}/"]
        if not calls:
            return None
        definitions = Definitions(Dialect(v3=True), describe, kinds={})
        for call in calls:
            _add_by_name(definitions, call.answer)
        return documents.openapi3(calls, definitions.found)

    def _definitions(self, versions: list[GroupVersion], *, v3: bool) -> dict[str, Tree]:
        resources = [resource for version in versions for resource in version.resources.values()]
        definitions = Definitions(Dialect(v3=v3), describe, kinds=self._kinds(versions))
        for name in ("Status", "DeleteOptions", "WatchEvent"):
            definitions.add(loader.struct(_META + name))
        definitions.found[operations.PATCH] = {
            "description": "Patch is the body of a PATCH request, in the form that its content type says.",
            "type": "object",
        }
        for call in operations.discovery_operations((v.group, v.version) for v in versions):
            _add_by_name(definitions, call.answer)
        for resource in resources:
            self._add_resource(definitions, resource, v3=v3)
        return definitions.found

    def _kinds(self, versions: list[GroupVersion]) -> dict[str, list[GVK]]:
        kinds: dict[str, list[GVK]] = {}
        for version in versions:
            for resource in version.resources.values():
                for gvk in _kinds_of(resource):
                    known = kinds.setdefault(definition_name(*gvk), [])
                    if gvk not in known:
                        known.append(gvk)
        for kind in _SHARED_KINDS:
            kinds[_META + kind] = sorted((v.group, v.version, kind) for v in versions)
        kinds[_META + "Status"] = [("", "v1", "Status")]
        return kinds

    def _add_resource(self, definitions: Definitions, resource: Resource, *, v3: bool) -> None:
        list_meta = loader.struct(_META + "ListMeta")
        for gvk in _kinds_of(resource):
            name = definition_name(*gvk)
            custom = self._custom(gvk, v3=v3)
            struct = Struct(name, {}) if custom is not None else _struct_or_none(gvk)
            if struct is None:
                continue
            if custom is not None:
                definitions.found[name] = custom
                definitions.add(loader.struct(loader.OBJECT_META))
            if gvk[2] == resource.kind and "list" in resource.verbs:
                definitions.add_list(struct, gvk, meta=list_meta)
            else:
                definitions.add(struct)


def _kinds_of(resource: Resource) -> list[GVK]:
    own = (resource.group, resource.version, resource.kind)
    others = [(s.group or resource.group, s.version or resource.version, s.kind) for s in resource.subresources]
    return [own, *dict.fromkeys(gvk for gvk in others if gvk != own)]


def _struct_or_none(gvk: GVK) -> Struct | None:
    """Kinds such as ``PodProxyOptions`` exist in query strings only and have no type."""
    try:
        return loader.struct_for(*gvk)
    except KeyError:
        return None


def _add_by_name(definitions: Definitions, name: str) -> None:
    if name and name != "string":
        definitions.add(loader.struct(name))


def _calls(version: GroupVersion) -> list[operations.Operation]:
    return [
        operation
        for resource in version.resources.values()
        for operation in operations.resource_operations(resource, definition_name)
    ]


def _path_of(version: GroupVersion) -> str:
    return f"apis/{version.api_version}" if version.group else f"api/{version.version}"
