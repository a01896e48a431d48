"""Conversion between API versions by calls of conversion webhooks.

Versions that pure functions convert have ``ServedResource.to_storage`` and ``from_storage``, and their objects pass the write
pipeline in the storage version. A resource with a ``Converter`` differs: its objects pass the pipeline in the version of the
request, as upstream, and a ``ConvertingStore`` converts them when they are read from and written to the store.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from steersman.apimachinery.bounded_cache import BoundedCache
from steersman.apimachinery.codec import encode
from steersman.apimachinery.managedfields.schema import UnknownVersionError
from steersman.apimachinery.trees import copy_tree
from steersman.apiserver.generic.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct
    from steersman.apiserver.generic.served import ServedResource

#: Converted entries that the watches of one version share.
_SHARED_MAX: Final = 4096
_SHARED_BYTES_MAX: Final = 16 * 1024 * 1024


class Converter(Protocol):
    """Converter to and from one served version. All methods raise 500 when an object cannot be converted."""

    async def entries(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return stored objects in the version served; one call for all of them."""

    async def trees(self, trees: Sequence[Tree]) -> list[Tree]:
        """Return objects of any version in the version served; one call for all of them. The result is read-only."""

    async def to_storage(self, tree: Tree) -> Tree:
        """Return an object of the version served in the storage version."""


class SharedConversions:
    """Entries in the version served, shared by the watches of that version.

    Only one conversion runs at a time: watches that wake up for the same change wait for one call, and a converter that does
    not answer gets one call at a time.
    """

    __slots__ = ("_converted", "_lock", "converter")

    def __init__(self, converter: Converter) -> None:
        self.converter: Final = converter
        self._converted: Final = BoundedCache[Entry](
            entries_max=_SHARED_MAX, bytes_max=_SHARED_BYTES_MAX, name="converted objects"
        )
        self._lock: Final = asyncio.Lock()

    async def entries(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return stored objects in the version served. Raises 500."""
        async with self._lock:
            converted = {
                (entry.key, entry.revision): self._converted.get((entry.key, entry.revision)) for entry in entries
            }
            missing = [entry for entry in entries if converted[entry.key, entry.revision] is None]
            if missing:
                for entry in await self.converter.entries(missing):
                    converted[entry.key, entry.revision] = entry
                    self._converted.put((entry.key, entry.revision), entry, len(entry.raw) + len(entry.key))
        return [entry for entry in converted.values() if entry is not None]


class PendingConversionError(Exception):
    """A synchronous step needs a conversion that is not available yet. After ``resolve`` the step can be repeated."""

    def __init__(self, versions: PendingVersions, key: tuple[bytes, str], tree: Tree, converter: Converter) -> None:
        super().__init__(key[1])
        self._versions: Final = versions
        self._key: Final = key
        self._tree: Final = tree
        self._converter: Final = converter

    async def resolve(self) -> None:
        """Convert the object. Raises 500."""
        self._versions.converted[self._key] = (await self._converter.trees([self._tree]))[0]


class PendingVersions:
    """Versions of one resource for one write (``Versions`` of managed fields), whose conversions wait."""

    __slots__ = ("_others", "_served", "converted")

    def __init__(self, served: ServedResource, others: Mapping[str, ServedResource]) -> None:
        self._served: Final = served
        self._others: Final = others
        #: By the encoded source and the version.
        self.converted: Final[dict[tuple[bytes, str], Tree]] = {}

    def struct(self, api_version: str) -> Struct:
        """Return the kind's type in a version. Raises ``UnknownVersionError``."""
        other = self._others.get(api_version)
        if other is None or other.struct is None:
            raise UnknownVersionError(api_version)
        return other.struct

    def convert(self, tree: Tree, api_version: str) -> Tree:
        """Return an object, which is not changed, in another version.

        Raises ``UnknownVersionError``, and ``PendingConversionError`` until the conversion has been made.
        """
        target = self._others.get(api_version)
        if target is None or target.converter is None:
            raise UnknownVersionError(api_version)
        source = {"apiVersion": self._served.resource.api_version, "kind": target.resource.kind, "metadata": {}, **tree}
        key = (encode(source), api_version)
        converted = self.converted.get(key)
        if converted is None:
            raise PendingConversionError(self, key, source, target.converter)
        return copy_tree(converted)  # type: ignore[no-any-return]
