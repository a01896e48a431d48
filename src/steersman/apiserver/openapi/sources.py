"""Inputs of the documents: an immutable snapshot of the catalog and the schemas of custom kinds.

A snapshot is taken on the event loop and read by the thread that builds documents. A part that did not change is the same
object in the next snapshot, so documents are compared with what they were built from by identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.discovery.catalog import Catalog, GroupVersion
    from steersman.schema.resources import Resource


#: Documents of ``/openapi/v3`` about no group.
_ROOTS = ("api", "apis", "version", ".well-known/openid-configuration", "openid/v1/jwks")


class CustomSchema(Protocol):
    """Structural schema of a custom resource, compared by identity."""

    @property
    def load(self) -> Callable[[], Tree]:
        """Return the function that returns the schema, which is never modified. It may be called in any thread."""
        ...


class CustomSchemas(Protocol):
    """Return the structural schema of a custom resource, None when there is none.

    The same object is returned until the definition changes.
    """

    def __call__(self, resource: Resource) -> CustomSchema | None: ...


class GroupVersionSource:
    """Inputs of one group version's document."""

    __slots__ = ("group", "resources", "schemas", "version")

    def __init__(self, version: GroupVersion, custom: CustomSchemas) -> None:
        self.group = version.group
        self.version = version.version
        self.resources = tuple(version.resources.values())
        #: Schemas of custom resources by resource name.
        self.schemas: Mapping[str, CustomSchema] = {
            resource.name: schema
            for resource in self.resources
            if not resource.definition and (schema := custom(resource)) is not None
        }

    @property
    def is_built_in(self) -> bool:
        """Report whether all resources are built in, so that the document depends on nothing else."""
        return all(resource.definition for resource in self.resources)

    @property
    def path(self) -> str:
        """Path of the document below ``/openapi/v3/``."""
        return f"apis/{self.group}/{self.version}" if self.group else f"api/{self.version}"

    def is_same(self, other: GroupVersionSource) -> bool:
        """Report whether both describe the same resources, with the same schema objects."""
        return (
            self.resources == other.resources
            and self.schemas.keys() == other.schemas.keys()
            and all(schema is other.schemas[name] for name, schema in self.schemas.items())
        )


class Snapshot:
    """Inputs of all documents at one generation of the catalog."""

    __slots__ = ("by_path", "group_versions")

    def __init__(self, group_versions: list[GroupVersionSource]) -> None:
        #: In the catalog's order of priority.
        self.group_versions = group_versions
        groups = {f"apis/{source.group}" for source in group_versions if source.group}
        #: Path below ``/openapi/v3/`` → the group version it is about, None for documents about discovery only.
        self.by_path: dict[str, GroupVersionSource | None] = dict.fromkeys((*_ROOTS, *groups))
        self.by_path |= {source.path: source for source in group_versions}
        self.by_path = dict(sorted(self.by_path.items()))


class Sources:
    """Returns the current snapshot; takes a new one when the catalog's generation has changed."""

    def __init__(self, catalog: Catalog, custom: CustomSchemas) -> None:
        self._catalog = catalog
        self._custom = custom
        self._generation = -1
        self._snapshot = Snapshot([])

    def current(self) -> Snapshot:
        """Return the snapshot of the catalog as it is now. To be called on the event loop."""
        if self._generation != self._catalog.generation:
            self._generation = self._catalog.generation
            sources = [self._source(version) for version in self._group_versions()]
            previous = self._snapshot.group_versions
            if len(sources) != len(previous) or any(a is not b for a, b in zip(sources, previous, strict=True)):
                self._snapshot = Snapshot(sources)
        return self._snapshot

    def _source(self, version: GroupVersion) -> GroupVersionSource:
        source = GroupVersionSource(version, self._custom)
        previous = self._snapshot.by_path.get(source.path)
        return previous if previous is not None and previous.is_same(source) else source

    def _group_versions(self) -> list[GroupVersion]:
        core = self._catalog.group("")
        groups = ([core] if core else []) + self._catalog.groups()
        # those of aggregated API servers have documents of their own
        return [version for group in groups for version in group.versions if version.remote is None]
