"""Accepted names of the definitions of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.crd.outline import accepted_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Entry


class GroupNames:
    """Follower of the watch cache of definitions; names are decoded when they are first needed."""

    def __init__(self) -> None:
        #: Entries, and names that were decoded, by group and name of the definition.
        self._entries: Final[dict[str, dict[str, Entry]]] = {}
        self._accepted: Final[dict[str, tuple[int, Tree]]] = {}

    def others(self, name: str) -> Iterator[Tree]:
        """Yield ``status.acceptedNames`` of the other definitions of a definition's group."""
        for other, entry in self._entries.get(_group_of(name), {}).items():
            if other == name:
                continue
            revision, names = self._accepted.get(other, (0, {}))
            if revision != entry.revision:
                names = accepted_names(entry.raw)
                self._accepted[other] = (entry.revision, names)
            yield names

    def reset(self, entries: list[Entry]) -> None:
        """Replace all definitions."""
        self._entries.clear()
        self._accepted.clear()
        for entry in entries:
            self.put(entry)

    def put(self, entry: Entry) -> None:
        """Add or replace a definition."""
        name = entry.name
        self._entries.setdefault(_group_of(name), {})[name] = entry

    def remove(self, key: str) -> None:
        """Remove a definition."""
        name = key.rpartition("/")[2]
        group = _group_of(name)
        entries = self._entries.get(group, {})
        entries.pop(name, None)
        if not entries:
            self._entries.pop(group, None)
        self._accepted.pop(name, None)


def _group_of(name: str) -> str:
    """Return the group in the name of a definition, ``<plural>.<group>``."""
    return name.partition(".")[2]
