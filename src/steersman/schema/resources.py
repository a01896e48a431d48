"""Which resources exist: the built-in table (generated) and the shape that custom ones share."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Container


class Subresource(msgspec.Struct, frozen=True):
    """``status``, ``scale``, ``binding``, … of a resource."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    #: Of the subresource's own kind, where it is not the parent's (``autoscaling``, ``policy``, …).
    group: str = ""
    version: str = ""


class Resource(msgspec.Struct, frozen=True):
    """One resource in one version, as discovery describes it."""

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
    #: Where its objects lie in the store, ``/registry/services/specs``; empty when nothing is stored.
    key_prefix: str = ""
    #: The ``apiVersion`` of objects in the cache of the store; resources that are one in the store have the same.
    storage_api_version: str = ""
    #: The ``apiVersion`` inside stored values, where it is an older version with the same fields; empty: ``storage_api_version``.
    stored_api_version: str = ""
    #: Told to everybody who uses it, of custom resources whose definition says so.
    deprecation_warning: str = ""

    @property
    def api_version(self) -> str:
        """As objects carry it: ``v1``, ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def stored_as(self) -> str:
        """Return the ``apiVersion`` inside stored values."""
        return self.stored_api_version or self.storage_api_version

    @property
    def group_resource(self) -> str:
        """As messages name it: ``pods``, ``deployments.apps``."""
        return f"{self.name}.{self.group}" if self.group else self.name


class GroupVersion(msgspec.Struct, frozen=True):
    """One version of a group."""

    name: str
    #: ``versionPriority`` of its APIService: the highest is the group's preferred version.
    priority: int
    #: What its definitions' names start with, ``io.k8s.api.apps.v1``.
    module: str


class Group(msgspec.Struct, frozen=True):
    """One API group and its versions, the preferred one first."""

    name: str
    #: ``groupPriorityMinimum`` of its APIServices: higher comes first in discovery.
    priority: int
    versions: tuple[GroupVersion, ...]

    @property
    def preferred_version(self) -> str:
        return self.versions[0].name


class _File(msgspec.Struct, frozen=True):
    groups: tuple[Group, ...]
    resources: tuple[Resource, ...]


class ResourceTable:
    """The built-in groups and resources, with the look-ups that requests need."""

    __slots__ = ("_by_name", "groups", "modules", "resources")

    def __init__(self, groups: tuple[Group, ...], resources: tuple[Resource, ...]) -> None:
        #: In the order in which discovery lists them; the core group is first.
        self.groups = groups
        #: By group, version and name.
        self.resources = resources
        #: Group and version → what its definitions' names start with.
        self.modules = {(group.name, version.name): version.module for group in groups for version in group.versions}
        self._by_name = {(resource.group, resource.version, resource.name): resource for resource in resources}

    def get(self, group: str, version: str, name: str) -> Resource | None:
        """The resource of a URL, or None."""
        return self._by_name.get((group, version, name))

    def of_version(self, group: str, version: str) -> tuple[Resource, ...]:
        """All resources of one group and version, by name."""
        return tuple(r for r in self.resources if r.group == group and r.version == version)

    def of_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource that serves a kind, or None."""
        return next((r for r in self.of_version(group, version) if r.kind == kind), None)

    def without_versions(self, disabled: Container[str]) -> ResourceTable:
        """Return the table without group versions such as ``apps/v1``, and without groups of which none is left."""
        groups = []
        for group in self.groups:
            versions = tuple(one for one in group.versions if f"{group.name}/{one.name}" not in disabled)
            if versions:
                groups.append(msgspec.structs.replace(group, versions=versions))
        return ResourceTable(tuple(groups), tuple(one for one in self.resources if one.api_version not in disabled))


@cache
def table() -> ResourceTable:
    """The built-in table, read on first use."""
    data = (Path(__file__).parent / "generated" / "resources.json").read_bytes()
    read = msgspec.json.decode(data, type=_File)
    return ResourceTable(read.groups, read.resources)
