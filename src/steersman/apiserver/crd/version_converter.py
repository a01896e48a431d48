"""Converter of a custom resource to and from one served version.

A read applies defaults of the schema in whose version the object is stored and prunes by it, converts, and prunes by the schema
of the version served; a write converts and prunes by the schema of the storage version. Defaults of the target are not applied,
as upstream (``crdConversionRESTOptionsGetter`` and ``schemaCoercingConverter`` of customresource_handler.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.crd import structure
from steersman.apiserver.crd.conversion_webhook import invalid_version
from steersman.apiserver.crd.pruning import prune
from steersman.apiserver.workers import LARGE_BYTES, in_worker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.crd.conversion_webhook import ConversionWebhook
    from steersman.apiserver.crd.definition import CustomVersion
    from steersman.apiserver.generic.entry import Entry, Layout

#: Bytes of stored objects in one call; longer lists take several calls.
_CALL_BYTES_MAX: Final = 64 * 1024 * 1024
_IDENTITY: Final = ("apiVersion", "kind", "metadata")


class VersionConverter:
    """A ``Converter`` (``generic.conversion``)."""

    def __init__(
        self,
        webhook: ConversionWebhook,
        target: CustomVersion,
        stored: CustomVersion,
        versions: Mapping[str, CustomVersion],
        *,
        layouts: tuple[Layout, Layout],
        is_unchanged: bool,
    ) -> None:
        """``versions``: all of the definition, served or not, by apiVersion. ``layouts``: of the target, of the storage version.

        ``is_unchanged``: the definition has its first generation, so that stored objects have no unspecified fields.
        """
        self._webhook: Final = webhook
        self._target: Final = target
        self._stored: Final = stored
        self._versions: Final = versions
        self._layout, self._storage_layout = layouts
        #: Objects in the storage version are served as they are stored.
        self._is_identity: Final = target is stored and is_unchanged and not stored.has_defaults

    async def entries(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return stored objects in the version served. Raises 500."""
        if self._is_identity and not any(entry.api_version for entry in entries):
            return list(entries)
        converted: list[Entry] = []
        batch: list[Entry] = []
        size = 0
        for entry in entries:
            size += len(entry.raw)
            if batch and size > _CALL_BYTES_MAX:
                converted += await self._convert_batch(batch)
                batch, size = [], len(entry.raw)
            batch.append(entry)
        return converted + await self._convert_batch(batch) if batch else converted

    async def _convert_batch(self, entries: Sequence[Entry]) -> list[Entry]:
        is_large = sum(len(entry.raw) for entry in entries) > LARGE_BYTES
        sources = await in_worker(self._decode, entries) if is_large else self._decode(entries)
        trees = await self._in_target(sources)

        def encode() -> list[Entry]:
            return [self._encode(tree, entry) for tree, entry in zip(trees, entries, strict=True)]

        return await in_worker(encode) if is_large else encode()

    def _decode(self, entries: Sequence[Entry]) -> list[Tree]:
        """Return stored objects with the defaults of their versions, without unspecified fields. Raises 500."""
        sources: list[Tree] = []
        for entry in entries:
            tree = self._storage_layout.tree(entry)
            version = self._versions.get(tree["apiVersion"])
            if version is None:
                raise invalid_version(tree["apiVersion"])
            if version.has_defaults:
                structure.fill_defaults(version.shape, tree)
            tree = prune(version.shape, tree).tree
            tree["metadata"].pop("resourceVersion", None)
            sources.append(tree)
        return sources

    def _encode(self, tree: Tree, entry: Entry) -> Entry:
        return self._layout.entry_of(entry.key, tree, entry.revision)

    async def trees(self, trees: Sequence[Tree]) -> list[Tree]:
        """Return objects of any version in the version served. Raises 500."""
        return await self._in_target(trees)

    async def to_storage(self, tree: Tree) -> Tree:
        """Return an object of the version served in the storage version. Raises 500."""
        if self._target is self._stored:
            return tree
        [converted] = await self._webhook.convert([tree], self._stored)
        return converted

    async def _in_target(self, trees: Sequence[Tree]) -> list[Tree]:
        """Return the trees converted and pruned; those of the target version, and empty ones, as they are."""
        api_version = self._target.resource.api_version
        converted = list(trees)
        places = []
        for place, tree in enumerate(trees):
            if tree["apiVersion"] == api_version:
                continue
            if _is_empty(tree):
                converted[place] = {**tree, "apiVersion": api_version}
            else:
                places.append(place)
        if places:
            answers = await self._webhook.convert([trees[place] for place in places], self._target)
            for place, tree in zip(places, answers, strict=True):
                converted[place] = tree
        return converted


def _is_empty(tree: Tree) -> bool:
    """True for an object without name and content, which webhooks are not asked about."""
    return not (tree.get("metadata") or {}) and all(key in _IDENTITY for key in tree)
