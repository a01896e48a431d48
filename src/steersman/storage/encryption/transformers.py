"""Transformers of values by prefix: the first one encrypts, all decrypt.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/value/transformer.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    #: Resource and group: ``("secrets", "")``.
    GroupResource = tuple[str, str]

#: Prefix of every encrypted value. Upstream: ``encrypt/identity``.
ENCRYPTED_PREFIX: Final = b"k8s:enc:"
ANY: Final = "*"


class DecryptionError(Exception):
    """A value cannot be decrypted; the message has upstream's reason."""


class DataKeyUnknownError(Exception):
    """The key of a value must be fetched from a KMS plugin first: await ``load()``, then decrypt again."""

    def __init__(self, load: Callable[[], Awaitable[None]]) -> None:
        super().__init__("the data encryption key is not in memory")
        self.load: Final = load


class Transformer(Protocol):
    """Encryption of values. ``context`` is authenticated with the value: the path of its key in etcd."""

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        """Return the value to store. Raises ``KMSUnavailableError``."""

    def decrypt(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Return the plain value, and whether a write would store it differently.

        Raises ``DecryptionError``, ``DataKeyUnknownError``.
        """


class Identity:
    """The provider ``identity``: no encryption."""

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        return data

    def decrypt(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        if data.startswith(ENCRYPTED_PREFIX):
            raise DecryptionError("identity transformer tried to read encrypted data")
        return data, False


class PrefixTransformers:
    """Transformers, each with the prefix of its values."""

    __slots__ = ("_no_match", "_transformers")

    def __init__(self, no_match: str, transformers: Sequence[tuple[bytes, Transformer]]) -> None:
        """``no_match``: error for a value with none of the prefixes."""
        self._no_match: Final = no_match
        self._transformers: Final = tuple(transformers)

    @property
    def first_prefix(self) -> str:
        """Prefix of newly encrypted values, as label of metrics."""
        return self._transformers[0][0].decode()

    def prefix_of(self, data: bytes) -> str:
        """Return the prefix of a value as label of metrics: ``identity`` for plain values, ``unknown`` for others."""
        matching = [prefix for prefix, _ in self._transformers if data.startswith(prefix)]
        named = next(filter(None, matching), None)
        if named is not None:
            return named.decode()
        return "identity" if matching else "unknown"

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        prefix, transformer = self._transformers[0]
        return prefix + transformer.encrypt(data, context)

    def decrypt(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Try every transformer with a matching prefix: several keys may share one."""
        reasons: list[str] = []
        for position, (prefix, transformer) in enumerate(self._transformers):
            if not data.startswith(prefix):
                continue
            try:
                plain, is_stale = transformer.decrypt(data[len(prefix) :], context)
            except DecryptionError as error:
                if prefix:  # ``identity`` fails because the value belongs to another provider
                    reasons.append(str(error))
                continue
            return plain, is_stale or position > 0
        raise DecryptionError(", ".join(reasons) or self._no_match)


class ResourceTransformers:
    """Transformers by resource, with wildcards. Upstream: ``transformerFromOverrides``."""

    __slots__ = ("_by_resource",)

    def __init__(self, by_resource: Mapping[GroupResource, PrefixTransformers]) -> None:
        self._by_resource: Final = dict(by_resource)

    def get(self, resource: GroupResource) -> PrefixTransformers | None:
        """Return the transformer of a resource; None if it is not encrypted."""
        by_resource = self._by_resource
        return by_resource.get(resource) or by_resource.get((ANY, resource[1])) or by_resource.get((ANY, ANY))


def parse_group_resource(text: str) -> GroupResource:
    """Return resource and group of ``deployments.apps``; ``*.`` is every resource of the core group."""
    resource, _, group = text.partition(".")
    return resource, group


def group_resource_text(resource: GroupResource) -> str:
    """Return the name of a resource in configurations. Upstream: ``grYAMLString``."""
    name, group = resource
    return f"{name}.{group}" if group or name == ANY else name
