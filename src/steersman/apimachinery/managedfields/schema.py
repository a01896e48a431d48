"""Versions of one kind, as ownership needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct


class UnknownVersionError(LookupError):
    """The kind is not, or no longer, served in a version."""


class Versions(Protocol):
    """Interface to the other served versions of a kind. Both methods raise UnknownVersionError."""

    def struct(self, api_version: str) -> Struct:
        """Return the kind's type in a version."""

    def convert(self, tree: Tree, api_version: str) -> Tree:
        """Return the object in another version, without changing the tree or setting defaults."""


class Schema:
    """Version of a write, and conversion to the others."""

    __slots__ = ("_versions", "api_version", "struct")

    def __init__(self, struct: Struct, api_version: str, versions: Versions | None) -> None:
        self.struct = struct
        self.api_version = api_version
        self._versions = versions

    def struct_in(self, api_version: str) -> Struct:
        """Return the type in a version. Raises UnknownVersionError."""
        if api_version == self.api_version:
            return self.struct
        if self._versions is None:
            raise UnknownVersionError(api_version)
        return self._versions.struct(api_version)

    def convert(self, tree: Tree, *, source: str, target: str) -> Tree:
        """Convert an object from version ``source`` to ``target``. Raises UnknownVersionError."""
        if source == target:
            return tree
        if self._versions is None:
            raise UnknownVersionError(target)
        return self._versions.convert(tree, target)
