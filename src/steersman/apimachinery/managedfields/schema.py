"""The versions of one kind, as ownership needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct


class UnknownVersionError(LookupError):
    """The kind is not (or no longer) served in a version."""


class Versions(Protocol):
    """The other versions that a kind is served in. Both methods raise UnknownVersionError."""

    def struct(self, api_version: str) -> Struct:
        """The kind's type in a version."""

    def convert(self, tree: Tree, api_version: str) -> Tree:
        """An object in another version. Neither changes the tree nor fills in defaults."""


class Schema:
    """The version of a write, and the way to the others."""

    __slots__ = ("_versions", "api_version", "struct")

    def __init__(self, struct: Struct, api_version: str, versions: Versions | None) -> None:
        self.struct = struct
        self.api_version = api_version
        self._versions = versions

    def struct_in(self, api_version: str) -> Struct:
        """The type in a version. Raises UnknownVersionError."""
        if api_version == self.api_version:
            return self.struct
        if self._versions is None:
            raise UnknownVersionError(api_version)
        return self._versions.struct(api_version)

    def convert(self, tree: Tree, *, source: str, target: str) -> Tree:
        """An object of version ``source`` in version ``target``. Raises UnknownVersionError."""
        if source == target:
            return tree
        if self._versions is None:
            raise UnknownVersionError(target)
        return self._versions.convert(tree, target)
