"""Builder of OpenAPI documents from snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.openapi import operations
from steersman.apiserver.openapi.definitions import GVK, Definitions, Dialect, Library
from steersman.apiserver.openapi.document import Document
from steersman.apiserver.openapi.path_items import encode_path_items
from steersman.apiserver.openapi.renderer import built_in_etag
from steersman.schema import loader
from steersman.schema.descriptions import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.apimachinery.typemodel import Struct
    from steersman.apiserver.openapi.sources import GroupVersionSource
    from steersman.schema.resources import Resource


_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: Kinds of every group version; upstream lists each of them under all groups.
_SHARED_KINDS = ("DeleteOptions", "WatchEvent")


def definition_name(group: str, version: str, kind: str) -> str:
    """Return the name of a built-in kind's definition, or the one upstream derives for a custom kind (``com.example.v1.Gadget``)."""
    try:
        return loader.struct_for(group, version, kind).name
    except KeyError:
        return ".".join([*reversed(group.split(".")), version, kind])


class _Parts:
    """Encoded parts of the Swagger 2.0 document that depend on one group version."""

    __slots__ = ("custom", "paths")

    def __init__(self, paths: dict[str, bytes], custom: dict[str, bytes]) -> None:
        self.paths = paths
        #: Definitions of custom kinds by resource name.
        self.custom = custom


class Builder:
    """Builder of documents. For a worker thread: slow (0.1 s for all built-in kinds) and not thread-safe.

    Caches encoded definitions shared by documents and, for the Swagger 2.0 document, the parts of each group version
    until it changes. Both are bounded by the served types and schemas.
    """

    def __init__(self, renderer: bytes) -> None:
        """``renderer``: the ``renderer_digest``."""
        self._renderer = renderer
        self._libraries = {v3: Library(Dialect(v3=v3), describe) for v3 in (False, True)}
        self._parts: dict[GroupVersionSource, _Parts] = {}

    def swagger(self, sources: Sequence[GroupVersionSource]) -> Document:
        """Return the Swagger 2.0 document of all resources."""
        calls = operations.discovery_operations((source.group, source.version) for source in sources)
        paths = encode_path_items(calls, v3=False)
        self._parts = {source: self._parts.get(source) or self._parts_of(source) for source in sources}
        custom = {source: parts.custom for source, parts in self._parts.items()}
        for parts in self._parts.values():
            paths |= parts.paths
        return Document(paths, self._definitions(sources, custom, v3=False), is_v3=False)

    def openapi3(self, source: GroupVersionSource) -> Document:
        """Return the OpenAPI 3.0 document of a group version."""
        own = operations.discovery_operations([(source.group, source.version)])
        calls = [call for call in own if call.path == f"/{source.path}/"] + _calls(source)
        custom = {source: self._encode_custom(source, v3=True)}
        definitions = self._definitions([source], custom, v3=True)
        etag = built_in_etag(self._renderer, source.path, source.resources) if source.is_built_in else ""
        return Document(encode_path_items(calls, v3=True), definitions, is_v3=True, etag=etag)

    def discovery(self, path: str) -> Document:
        """Return the OpenAPI 3.0 document of a discovery path: ``api``, ``apis/apps``, ``version``."""
        group = path.removeprefix("apis/")
        calls = [call for call in operations.discovery_operations([(group, "v1")]) if call.path == f"/{path}/"]
        definitions = Definitions(self._libraries[True], kinds={})
        for call in calls:
            _add_by_name(definitions, call.answer)
        etag = built_in_etag(self._renderer, path, ())
        return Document(encode_path_items(calls, v3=True), definitions.encoded, is_v3=True, etag=etag)

    def _parts_of(self, source: GroupVersionSource) -> _Parts:
        return _Parts(encode_path_items(_calls(source), v3=False), self._encode_custom(source, v3=False))

    def _encode_custom(self, source: GroupVersionSource, *, v3: bool) -> dict[str, bytes]:
        library = self._libraries[v3]
        return {
            resource.name: library.encode_custom(
                source.schemas[resource.name].load(), _kind_of(resource), resource.selectable_fields
            )
            for resource in source.resources
            if resource.name in source.schemas
        }

    def _definitions(
        self,
        sources: Sequence[GroupVersionSource],
        custom: dict[GroupVersionSource, dict[str, bytes]],
        *,
        v3: bool,
    ) -> dict[str, bytes]:
        definitions = Definitions(self._libraries[v3], kinds=_kinds(sources))
        for name in ("Status", "DeleteOptions", "WatchEvent"):
            definitions.add(loader.struct(_META + name))
        definitions.add_patch(operations.PATCH)
        for call in operations.discovery_operations((source.group, source.version) for source in sources):
            _add_by_name(definitions, call.answer)
        for source in sources:
            for resource in source.resources:
                _add_resource(definitions, resource, custom[source].get(resource.name))
        return definitions.encoded


def _add_resource(definitions: Definitions, resource: Resource, custom: bytes | None) -> None:
    """Add the kinds of a resource and of its subresources; ``custom``: the encoded definition of a custom kind."""
    own, meta = _kind_of(resource), loader.struct(_META + "ListMeta")
    for gvk in _kinds_of(resource):
        if gvk == own and custom is not None:
            definitions.encoded[definition_name(*gvk)] = custom
            definitions.add(loader.struct(loader.OBJECT_META))
            definitions.add_custom_list(definition_name(*gvk), resource, meta=meta)
            continue
        struct = _struct_or_none(gvk)
        if struct is None:
            continue
        if gvk == own and "list" in resource.verbs:
            definitions.add_list(struct, gvk, meta=meta)
        else:
            definitions.add(struct)


def _kinds(sources: Sequence[GroupVersionSource]) -> dict[str, list[GVK]]:
    """Return the kinds of each definition."""
    kinds: dict[str, list[GVK]] = {}
    for source in sources:
        for resource in source.resources:
            for gvk in _kinds_of(resource):
                gvks = kinds.setdefault(definition_name(*gvk), [])
                if gvk not in gvks:
                    gvks.append(gvk)
    for kind in _SHARED_KINDS:
        kinds[_META + kind] = sorted((source.group, source.version, kind) for source in sources)
    kinds[_META + "Status"] = [("", "v1", "Status")]
    return kinds


def _kind_of(resource: Resource) -> GVK:
    return (resource.group, resource.version, resource.kind)


def _kinds_of(resource: Resource) -> Iterable[GVK]:
    own = _kind_of(resource)
    others = [(s.group or resource.group, s.version or resource.version, s.kind) for s in resource.subresources]
    return [own, *dict.fromkeys(gvk for gvk in others if gvk != own)]


def _struct_or_none(gvk: GVK) -> Struct | None:
    """Return a kind's type; None for kinds that exist in query strings only (``PodProxyOptions``)."""
    try:
        return loader.struct_for(*gvk)
    except KeyError:
        return None


def _add_by_name(definitions: Definitions, name: str) -> None:
    if name and name != "string":
        definitions.add(loader.struct(name))


def _calls(source: GroupVersionSource) -> list[operations.Operation]:
    return [
        operation
        for resource in source.resources
        for operation in operations.resource_operations(resource, definition_name)
    ]
