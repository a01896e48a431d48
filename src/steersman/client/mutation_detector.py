"""Finds who changes objects of a cache, which belong to all: for tests (client-go's ``KUBE_CACHE_MUTATION_DETECTOR``)."""

from __future__ import annotations

from typing import Any

import msgspec

from steersman.client.errors import ClientError


class CacheMutated(ClientError):  # noqa: N818 — says what happened, as its siblings do
    """Objects of a cache are not as they came."""


class MutationDetector:
    """Remembers each object of one cache as it came: about as much memory again, and an encoding for each change."""

    def __init__(self) -> None:
        self._encode = msgspec.json.Encoder().encode
        self._remembered: dict[str, tuple[Any, bytes]] = {}
        self._changed: list[str] = []

    def put(self, key: str, obj: Any) -> None:
        """The object is in the cache from now on; the one before it is looked at a last time."""
        self.remove(key)
        self._remembered[key] = (obj, self._encode(obj))

    def remove(self, key: str) -> None:
        """It no longer is."""
        known = self._remembered.pop(key, None)
        if known is not None:
            self._look(key, *known)

    def check(self, name: str) -> None:
        """Look at all. Raises ``CacheMutated`` if somebody has changed an object of the cache since the last check."""
        for key, (obj, encoded) in self._remembered.items():
            self._remembered[key] = (obj, self._look(key, obj, encoded))
        changed, self._changed = self._changed, []
        if changed:
            raise CacheMutated(f"objects in the cache of {name} were changed by who read them: {'; '.join(changed)}")

    def _look(self, key: str, obj: Any, encoded: bytes) -> bytes:
        now = self._encode(obj)
        if now != encoded:
            self._changed.append(f"{key} was {encoded.decode()} and is {now.decode()}")
        return now
