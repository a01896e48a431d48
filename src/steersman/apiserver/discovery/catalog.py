"""Catalog of served groups, versions and resources, in the order that clients rely on.

Groups are ordered by the ``groupPriorityMinimum`` of their APIServices, versions by ``versionPriority``; custom resources
have 1000 and 100 unless a client registered them. Equal groups are ordered by name, equal versions in Kubernetes' version
order, newest first (``v2`` > ``v1`` > ``v1beta2`` > ``v1alpha1``). Versions served by aggregated API servers are laid over
the local ones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.schema.resources import Resource, ResourceTable

#: The group without an APIService, which the aggregation layer serves itself.
AGGREGATOR_GROUP: Final = "apiregistration.k8s.io"
#: Priorities of the APIServices of custom resources.
CUSTOM_GROUP_PRIORITY: Final = 1000
CUSTOM_VERSION_PRIORITY: Final = 100

_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


def version_key(version: str) -> tuple[int, int, int, int, str]:
    """Return a sort key of version priority, highest first when reversed; other names come last, by name.

    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return (0, 0, 0, 0, "".join(chr(0x10FFFF - ord(c)) for c in version))
    return (1, _STAGES[match[2]], int(match[1]), int(match[3] or 0), "")


class RemoteVersion(msgspec.Struct, frozen=True):
    """One group version that an aggregated API server serves."""

    group: str
    version: str
    #: ``groupPriorityMinimum`` and ``versionPriority`` of its APIService.
    group_priority: int
    version_priority: int
    #: As in aggregated discovery (``APIResourceDiscovery``).
    resources: tuple[Tree, ...] = ()
    #: The last attempt to read ``resources`` failed.
    is_stale: bool = False


class Registration(msgspec.Struct, frozen=True):
    """An APIService without a Service: priorities of a group version that this server may or may not serve."""

    group: str
    version: str
    #: ``groupPriorityMinimum`` and ``versionPriority``.
    group_priority: int
    version_priority: int


class GroupVersion(msgspec.Struct):
    """One version of a group and its resources by name."""

    group: str
    version: str
    resources: dict[str, Resource]
    #: Set for versions of aggregated API servers, which have no ``resources`` here.
    remote: RemoteVersion | None = None

    @property
    def api_version(self) -> str:
        """API version, e.g. ``v1``, ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version


class Group(msgspec.Struct):
    """One group; its versions in order of preference."""

    name: str
    versions: list[GroupVersion]


class Catalog:
    """The served resources. Changes at run time increment ``generation``, the key of cached documents."""

    def __init__(self, built_in: ResourceTable) -> None:
        self._rank = {group.name: index for index, group in enumerate(built_in.groups)}
        self._group_priority = {group.name: group.priority for group in built_in.groups}
        self._version_priority = {
            (group.name, version.name): version.priority for group in built_in.groups for version in group.versions
        }
        self._version_order = {group.name: [version.name for version in group.versions] for group in built_in.groups}
        self._groups: dict[str, Group] = {}
        self._remote: dict[str, list[RemoteVersion]] = {}
        #: By group and version.
        self._registered: dict[tuple[str, str], Registration] = {}
        #: Groups of ``/apis`` in order; None when it must be computed again.
        self._listed: dict[str, Group] | None = None
        #: Incremented when the groups of ``/apis`` change, also without a change of ``generation``.
        self.listing_generation = 0
        #: Groups in order, the core group included; None when it must be computed again.
        self._merged: dict[str, Group] | None = None
        self.generation = 0
        #: Called after every change; must not raise.
        self.on_change: Callable[[], None] = _nothing
        for resource in built_in.resources:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        """Add or replace a resource."""
        group = self._groups.setdefault(resource.group, Group(resource.group, []))
        version = next((v for v in group.versions if v.version == resource.version), None)
        if version is None:
            version = GroupVersion(resource.group, resource.version, {})
            group.versions.append(version)
            group.versions.sort(key=lambda v: self._version_rank(resource.group, v.version))
        version.resources[resource.name] = resource
        self._changed()

    def remove(self, resource: Resource) -> None:
        """Remove a resource, and its version and group if they become empty."""
        group = self._groups.get(resource.group)
        if group is None:
            return
        for version in group.versions:
            if version.version == resource.version:
                version.resources.pop(resource.name, None)
        group.versions = [v for v in group.versions if v.resources]
        if not group.versions:
            del self._groups[resource.group]
        self._changed()

    def set_remote(self, versions: Iterable[RemoteVersion]) -> None:
        """Replace the versions that aggregated API servers serve. Equal input changes nothing."""
        remote: dict[str, list[RemoteVersion]] = {}
        for version in versions:
            remote.setdefault(version.group, []).append(version)
        if remote != self._remote:
            self._remote = remote
            self._changed()

    def set_registered(self, registrations: Iterable[Registration]) -> None:
        """Replace the APIServices without a Service. Equal input changes nothing."""
        registered = {(registration.group, registration.version): registration for registration in registrations}
        if registered != self._registered:
            self._registered = registered
            self._listed = None
            self.listing_generation += 1

    def _changed(self) -> None:
        self._merged = self._listed = None
        self.generation += 1
        self.listing_generation += 1
        self.on_change()

    def local_groups(self) -> list[Group]:
        """Return the groups that this server serves, the core group first."""
        return [self._groups[name] for name in sorted(self._groups, key=lambda n: (n != "", *self._group_rank(n)))]

    def groups(self) -> list[Group]:
        """Return all groups but the core group, in order of priority."""
        return [group for name, group in self._all().items() if name]

    def group(self, name: str) -> Group | None:
        """Return a group by name (empty: the core group)."""
        return self._all().get(name)

    def listed_groups(self) -> list[Group]:
        """Return the groups of ``/apis``: those that are served and those that have an APIService, served or not.

        Upstream: ``apisHandler`` of kube-aggregator, which reads APIServices only.
        """
        return list(self._list().values())

    def listed_group(self, name: str) -> Group | None:
        """Return one of the groups of ``/apis`` by name."""
        return self._list().get(name)

    def _list(self) -> dict[str, Group]:
        if self._listed is None:
            versions = {(group.name, version.version): version for group in self.groups() for version in group.versions}
            for group, name in self._registered:
                if group:
                    versions.setdefault((group, name), GroupVersion(group, name, {}))
            listed: dict[str, Group] = {}
            for version in sorted(versions.values(), key=self._listing_key):
                listed.setdefault(version.group, Group(version.group, [])).versions.append(version)
            for entry in listed.values():
                entry.versions.sort(key=self._priority_key, reverse=True)
            self._listed = listed
        return self._listed

    def _listing_key(self, version: GroupVersion) -> tuple[bool, int, str]:
        """Return the sort key of an APIService among all: the aggregator's own group first, then by priority and name."""
        if version.remote is not None:
            priority = version.remote.group_priority
        elif (registration := self._registered.get((version.group, version.version))) is not None:
            priority = registration.group_priority
        else:
            priority = self._group_priority.get(version.group, CUSTOM_GROUP_PRIORITY)
        return version.group != AGGREGATOR_GROUP, -priority, f"{version.version}.{version.group}"

    def _all(self) -> dict[str, Group]:
        if self._merged is None:
            names = sorted({*self._groups, *self._remote}, key=self._group_rank)
            self._merged = {name: self._merge(name) for name in names}
        return self._merged

    def _merge(self, name: str) -> Group:
        local, remote = self._groups.get(name), self._remote.get(name)
        if not remote:
            assert local is not None
            return local
        versions = {version.version: version for version in (local.versions if local else ())}
        versions |= {
            remote_version.version: GroupVersion(name, remote_version.version, {}, remote_version)
            for remote_version in remote
        }
        return Group(name, sorted(versions.values(), key=self._priority_key, reverse=True))

    def _priority_key(self, version: GroupVersion) -> tuple[int, tuple[int, int, int, int, str]]:
        if version.remote is not None:
            return version.remote.version_priority, version_key(version.version)
        if (registration := self._registered.get((version.group, version.version))) is not None:
            return registration.version_priority, version_key(version.version)
        priority = self._version_priority.get((version.group, version.version), CUSTOM_VERSION_PRIORITY)
        return priority, version_key(version.version)

    def _group_rank(self, name: str) -> tuple[int, int, str]:
        local = self._group_priority.get(name, CUSTOM_GROUP_PRIORITY) if name in self._groups else 0
        priority = max((local, *(remote_version.group_priority for remote_version in self._remote.get(name, ()))))
        return -priority, self._rank.get(name, len(self._rank)), name

    def is_built_in(self, name: str) -> bool:
        """True if the group is built in."""
        return name in self._rank

    def group_version(self, group: str, version: str) -> GroupVersion | None:
        """Return one version of a group; None if it is not served."""
        group_entry = self._all().get(group)
        return next((v for v in group_entry.versions if v.version == version), None) if group_entry else None

    def _version_rank(self, group: str, version: str) -> tuple[int, tuple[int, ...], str]:
        order = self._version_order.get(group, [])
        if version in order:
            return (order.index(version), (), "")
        *numbers, text = version_key(version)
        return (len(order), tuple(-n for n in numbers if isinstance(n, int)), str(text))


def _nothing() -> None:
    """Do nothing."""
