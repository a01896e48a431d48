"""Resources and groups: the built-in table (generated), and the classes that custom resources share."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Container


class Subresource(msgspec.Struct, frozen=True):
    """Subresource of a resource: ``status``, ``scale``, ``binding``, …"""

    name: str
    kind: str
    verbs: tuple[str, ...]
    #: Group of the subresource's own kind, if it is not the parent's (``autoscaling``, ``policy``, …).
    group: str = ""
    version: str = ""


class Resource(msgspec.Struct, frozen=True):
    """Resource in one version, as discovery describes it."""

    group: str
    version: str
    #: Plural, lower case: ``pods``.
    name: str
    kind: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    #: Name of the schema definition, ``io.k8s.api.core.v1.Pod``; empty for custom resources.
    definition: str = ""
    #: Key prefix of its objects in the store, ``/registry/services/specs``; empty if it has no storage.
    key_prefix: str = ""
    #: ``apiVersion`` of objects in the watch cache; resources with common storage have the same.
    storage_api_version: str = ""
    #: ``apiVersion`` inside stored values, where it is an older version with the same fields; empty: ``storage_api_version``.
    stored_api_version: str = ""
    #: Warning to every user of a custom resource whose definition has a deprecation warning.
    deprecation_warning: str = ""
    #: Kind of lists of a custom resource; empty: the kind followed by ``List``.
    declared_list_kind: str = ""
    #: Paths of the fields of a custom resource that field selectors accept, ``.spec.color``.
    selectable_fields: tuple[str, ...] = ()

    @property
    def list_kind(self) -> str:
        """Kind of lists of its objects: ``PodList``."""
        return self.declared_list_kind or f"{self.kind}List"

    @property
    def api_version(self) -> str:
        """``apiVersion`` of its objects: ``v1``, ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def stored_as(self) -> str:
        """Return the ``apiVersion`` inside stored values."""
        return self.stored_api_version or self.storage_api_version

    @property
    def group_resource(self) -> str:
        """Name in messages: ``pods``, ``deployments.apps``."""
        return f"{self.name}.{self.group}" if self.group else self.name


class GroupVersion(msgspec.Struct, frozen=True):
    """Version of a group."""

    name: str
    #: ``versionPriority`` of its APIService: the highest is the group's preferred version.
    priority: int
    #: Prefix of its definitions' names, ``io.k8s.api.apps.v1``.
    module: str


class Group(msgspec.Struct, frozen=True):
    """API group and its versions, the preferred one first."""

    name: str
    #: ``groupPriorityMinimum`` of its APIServices: higher comes first in discovery.
    priority: int
    versions: tuple[GroupVersion, ...]


class _File(msgspec.Struct, frozen=True):
    groups: tuple[Group, ...]
    resources: tuple[Resource, ...]


class ResourceTable:
    """Built-in groups and resources, with the look-ups of requests."""

    __slots__ = ("_by_kind", "_by_name", "groups", "modules", "resources")

    def __init__(self, groups: tuple[Group, ...], resources: tuple[Resource, ...]) -> None:
        #: In discovery order; the core group is first.
        self.groups = groups
        #: Key: group, version and name.
        self.resources = resources
        #: Group and version → prefix of its definitions' names.
        self.modules = {(group.name, version.name): version.module for group in groups for version in group.versions}
        self._by_name = {(resource.group, resource.version, resource.name): resource for resource in resources}
        #: The first resource of each kind.
        self._by_kind = {
            (resource.group, resource.version, resource.kind): resource for resource in reversed(resources)
        }

    def get(self, group: str, version: str, name: str) -> Resource | None:
        """Return the resource of a URL, or None."""
        return self._by_name.get((group, version, name))

    def of_version(self, group: str, version: str) -> tuple[Resource, ...]:
        """Return all resources of a group version, by name."""
        return tuple(r for r in self.resources if r.group == group and r.version == version)

    def of_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """Return the resource of a kind, or None."""
        return self._by_kind.get((group, version, kind))

    def without_versions(self, disabled: Container[str]) -> ResourceTable:
        """Return the table without these group versions (``apps/v1``), and without groups that become empty."""
        groups = []
        for group in self.groups:
            versions = tuple(version for version in group.versions if f"{group.name}/{version.name}" not in disabled)
            if versions:
                groups.append(msgspec.structs.replace(group, versions=versions))
        return ResourceTable(
            tuple(groups), tuple(resource for resource in self.resources if resource.api_version not in disabled)
        )


@cache
def table() -> ResourceTable:
    """Return the built-in table, loaded on first use."""
    data = (Path(__file__).parent / "generated" / "resources.json").read_bytes()
    read = msgspec.json.decode(data, type=_File)
    return ResourceTable(read.groups, read.resources)
