"""Keys of the store as keys of etcd: UTF-8, with the store's root replaced by ``--etcd-prefix``."""

from __future__ import annotations

from typing import Final

from steersman.storage.keys import prefix_end

_NUL: Final = b"\0"


class KeySpace:
    """Two-way mapping: the store's ``root`` (empty: all keys) is etcd's ``prefix``."""

    def __init__(self, *, root: str = "", prefix: str = "") -> None:
        self._root = root
        self._prefix = prefix
        self._prefix_bytes = prefix.encode()

    def encode(self, key: str) -> bytes:
        """Return etcd's key. Raises ``ValueError`` for a key outside of the root or not encodable in UTF-8."""
        if self._root == self._prefix:
            return key.encode()
        if not key.startswith(self._root):
            raise ValueError(f"key {key} is outside {self._root}")
        return (self._prefix + key[len(self._root) :]).encode()

    def decode(self, key: bytes) -> str | None:
        """Return the store's key; None for a key outside of the prefix."""
        if not key.startswith(self._prefix_bytes):
            return None
        try:
            text = key.decode()
        except UnicodeDecodeError:
            return None
        return text if self._root == self._prefix else self._root + text[len(self._prefix) :]

    def range_of(self, prefix: str, *, start_after: str = "") -> tuple[bytes, bytes]:
        """Return first key and end of the keys with ``prefix`` that sort after ``start_after``."""
        low = max(prefix, start_after + "\0") if start_after else prefix
        if low.startswith(self._root):
            first = self.encode(low)
        elif low < self._root:
            first = self._prefix_bytes
        else:
            first = prefix_end(self._prefix).encode()  # an empty range
        narrowed = prefix if prefix.startswith(self._root) else self._root
        end = prefix_end(self._prefix + narrowed[len(self._root) :]) if narrowed else ""
        return first or _NUL, end.encode() or _NUL
