"""Keys of Secrets and ConfigMaps, which nodes watch as metadata only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.client import tree
from steersman.client.errors import Forbidden, NotFound
from steersman.client.objects import key_of, name_of, namespace_of, resource_version_of

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.client import Client


class ObjectKeys(NamedTuple):
    """Keys of one object."""

    #: Keys that variables can have as source.
    text: frozenset[str]
    #: Keys that volumes can have as files.
    files: frozenset[str]


class UnknownKeys(NamedTuple):
    """Keys of an object that exists and cannot be read."""


Keys = ObjectKeys | UnknownKeys
UNKNOWN: Final = UnknownKeys()


class ObjectKeyReader:
    """Reads the keys of objects, once for each version of an object; at most one entry for each object."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._read: dict[tuple[str, str], tuple[str, Keys]] = {}

    async def keys(self, kind: str, metadata: Any) -> Keys | None:
        """Return the keys of the observed object ``metadata``; None if it was deleted meanwhile. Raises ``ClientError``."""
        place = kind, key_of(metadata)
        version, keys = self._read.get(place, ("", UNKNOWN))
        if version == resource_version_of(metadata):
            return keys
        try:
            obj = await self._client.get(tree("v1", kind), name_of(metadata), namespace=namespace_of(metadata))
        except NotFound:
            self._read.pop(place, None)
            return None
        except Forbidden:
            return UNKNOWN
        keys = _keys_of(obj)
        self._read[place] = resource_version_of(obj), keys
        return keys

    def forget(self, kind: str, key: str) -> None:
        """Remove the keys of a deleted object."""
        self._read.pop((kind, key), None)


def _keys_of(obj: Tree) -> ObjectKeys:
    text = frozenset(obj.get("data") or ())
    return ObjectKeys(text, text | frozenset(obj.get("binaryData") or ()))
