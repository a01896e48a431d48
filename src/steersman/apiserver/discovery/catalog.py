"""Catalog of served groups, versions and resources, in the order that clients rely on.

Built-in groups come in upstream's order of priority; groups added at run time (custom resources) follow by name, with
their versions in Kubernetes' version order, newest first (``v2`` > ``v1`` > ``v1beta2`` > ``v1alpha1``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.schema.resources import Resource, ResourceTable

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


class GroupVersion(msgspec.Struct):
    """One version of a group and its resources by name."""

    group: str
    version: str
    resources: dict[str, Resource]

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
        self._version_order = {group.name: [version.name for version in group.versions] for group in built_in.groups}
        self._groups: dict[str, Group] = {}
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
        self.generation += 1
        self.on_change()

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
        self.generation += 1
        self.on_change()

    def groups(self) -> list[Group]:
        """Return all groups but the core group, in order of priority."""
        last = len(self._rank)
        names = sorted((n for n in self._groups if n), key=lambda n: (self._rank.get(n, last), n))
        return [self._groups[name] for name in names]

    def group(self, name: str) -> Group | None:
        """Return a group by name (empty: the core group)."""
        return self._groups.get(name)

    def is_built_in(self, name: str) -> bool:
        """True if the group is built in."""
        return name in self._rank

    def group_version(self, group: str, version: str) -> GroupVersion | None:
        """Return one version of a group; None if it is not served."""
        found = self._groups.get(group)
        return next((v for v in found.versions if v.version == version), None) if found else None

    def _version_rank(self, group: str, version: str) -> tuple[int, tuple[int, ...], str]:
        order = self._version_order.get(group, [])
        if version in order:
            return (order.index(version), (), "")
        *numbers, text = version_key(version)
        return (len(order), tuple(-n for n in numbers if isinstance(n, int)), str(text))


def _nothing() -> None:
    """Do nothing."""
