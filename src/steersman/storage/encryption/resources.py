"""Resource of a key, which selects the transformer of its value.

Upstream encrypts by the resource that a storage was made for; data that is no resource (``/registry/ranges/``,
``/registry/masterleases/``) is never encrypted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.storage.encryption.transformers import GroupResource

_ROOT: Final = "/registry/"


class KeyResources:
    """Look-up of resources by the prefixes of their keys; custom resources are ``/registry/<group>/<resource>/``."""

    __slots__ = ("_by_prefix",)

    def __init__(self, by_prefix: Mapping[str, GroupResource]) -> None:
        """``by_prefix``: the built-in resources by their prefix of one or two segments, ``/registry/services/specs``."""
        self._by_prefix: Final = dict(by_prefix)

    def __call__(self, key: str) -> GroupResource | None:
        """Return the resource of a key; None for data that is no resource."""
        if not key.startswith(_ROOT):
            return None
        end = key.find("/", len(_ROOT))
        if end < 0:
            return None
        resource = self._by_prefix.get(key[:end])
        if resource is not None:
            return resource
        second = key.find("/", end + 1)
        if second < 0:
            return None
        resource = self._by_prefix.get(key[:second])
        if resource is not None:
            return resource
        group = key[len(_ROOT) : end]
        return (key[end + 1 : second], group) if "." in group else None
