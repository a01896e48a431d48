"""Detection of modified cache objects, for tests. Upstream: client-go's ``KUBE_CACHE_MUTATION_DETECTOR``."""

from __future__ import annotations

from typing import Any

import msgspec

from steersman.client.errors import ClientError


class CacheMutated(ClientError):  # noqa: N818 — named by the condition, like its siblings
    """Objects of a cache were modified."""


class MutationDetector:
    """Encoded copy of each object of one cache. Doubles the cache's memory and encodes each change."""

    def __init__(self) -> None:
        self._encode = msgspec.json.Encoder().encode
        self._snapshots: dict[str, tuple[Any, bytes]] = {}
        self._mutations: list[str] = []

    def put(self, key: str, obj: Any) -> None:
        """Record an added object, and check the object it replaces."""
        self.remove(key)
        self._snapshots[key] = (obj, self._encode(obj))

    def remove(self, key: str) -> None:
        """Check an object and drop its copy."""
        snapshot = self._snapshots.pop(key, None)
        if snapshot is not None:
            self._compare(key, *snapshot)

    def check(self, name: str) -> None:
        """Check all objects. Raises ``CacheMutated`` if any was modified since the last check."""
        for key, (obj, encoded) in self._snapshots.items():
            self._snapshots[key] = (obj, self._compare(key, obj, encoded))
        mutations, self._mutations = self._mutations, []
        if mutations:
            raise CacheMutated(f"objects in the cache of {name} were changed by who read them: {'; '.join(mutations)}")

    def _compare(self, key: str, obj: Any, encoded: bytes) -> bytes:
        now = self._encode(obj)
        if now != encoded:
            self._mutations.append(f"{key} was {encoded.decode()} and is {now.decode()}")
        return now
