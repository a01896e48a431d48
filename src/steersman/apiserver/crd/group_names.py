"""Accepted names of the definitions of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.crd.outline import accepted_names

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Entry

#: Definitions that hold a name; usually one.
_Holders = dict[str, set[str]]


class _Group:
    """Names of one group; those of a definition are decoded when the group is first asked after it changed."""

    def __init__(self) -> None:
        self._changed: Final[dict[str, Entry]] = {}
        self._resources: Final[_Holders] = {}
        self._kinds: Final[_Holders] = {}
        #: By definition: names of resources, and kinds.
        self._names: Final[dict[str, tuple[set[str], set[str]]]] = {}

    def __len__(self) -> int:
        return len(self._changed) + len(self._names)

    def put(self, entry: Entry) -> None:
        self.remove(entry.name)
        self._changed[entry.name] = entry

    def remove(self, definition: str) -> None:
        self._changed.pop(definition, None)
        names = self._names.pop(definition, None)
        if names is not None:
            resources, kinds = names
            _release(self._resources, resources, definition)
            _release(self._kinds, kinds, definition)

    def read(self) -> tuple[_Holders, _Holders]:
        """Return the holders of names of resources, and of kinds."""
        while self._changed:
            definition, entry = self._changed.popitem()
            names = _readable_names(entry)
            resources = {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
            kinds = {names.get("kind", ""), names.get("listKind", "")}
            self._names[definition] = resources, kinds
            for name in resources:
                self._resources.setdefault(name, set()).add(definition)
            for name in kinds:
                self._kinds.setdefault(name, set()).add(definition)
        return self._resources, self._kinds


class OtherNames:
    """Names that the other definitions of a definition's group have."""

    __slots__ = ("_definition", "_kinds", "_resources")

    def __init__(self, definition: str, resources: _Holders, kinds: _Holders) -> None:
        self._definition: Final = definition
        self._resources: Final = resources
        self._kinds: Final = kinds

    def has_resource(self, name: str) -> bool:
        """Report whether another definition has this plural, singular or short name."""
        return not self._resources.get(name, set()) <= {self._definition}

    def has_kind(self, name: str) -> bool:
        """Report whether another definition has this kind, of objects or lists."""
        return not self._kinds.get(name, set()) <= {self._definition}


class GroupNames:
    """Follower of the watch cache of definitions."""

    def __init__(self) -> None:
        self._groups: Final[dict[str, _Group]] = {}

    def others(self, name: str) -> OtherNames:
        """Return the accepted names of the other definitions of a definition's group."""
        group = self._groups.get(_group_of(name))
        resources, kinds = group.read() if group is not None else ({}, {})
        return OtherNames(name, resources, kinds)

    def reset(self, entries: list[Entry]) -> None:
        """Replace all definitions."""
        self._groups.clear()
        for entry in entries:
            self.put(entry)

    def put(self, entry: Entry) -> None:
        """Add or replace a definition."""
        group = _group_of(entry.name)
        if group not in self._groups:
            self._groups[group] = _Group()
        self._groups[group].put(entry)

    def remove(self, key: str) -> None:
        """Remove a definition."""
        name = key.rpartition("/")[2]
        group = self._groups.get(_group_of(name))
        if group is not None:
            group.remove(name)
            if not group:
                del self._groups[_group_of(name)]


def _readable_names(entry: Entry) -> Tree:
    try:
        return accepted_names(entry.raw)
    except msgspec.MsgspecError:
        return {}  # reported when the definition itself is synced


def _release(holders: _Holders, names: set[str], definition: str) -> None:
    for name in names:
        holders[name].discard(definition)
        if not holders[name]:
            del holders[name]


def _group_of(name: str) -> str:
    """Return the group in the name of a definition, ``<plural>.<group>``."""
    return name.partition(".")[2]
