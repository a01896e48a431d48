"""Encoded documents: sequences of fragments, one for each path and each definition.

No step of building a document handles more than one path or one definition, so the thread that builds it holds the
interpreter lock for the time of one schema at most. Fragments that several documents have in common are the same bytes.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apiserver.openapi import protobuf
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INFO = {"title": "Kubernetes", "version": KUBERNETES_VERSION}
_SECURITY: list[dict[str, list[str]]] = [{"BearerToken": []}]
_SECURITY_SCHEMES = {
    "BearerToken": {
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
        "description": "Bearer Token authentication",
    }
}


class Document:
    """A document of either OpenAPI version as JSON. ``paths`` and ``definitions`` map names to encoded JSON."""

    __slots__ = ("_is_v3", "_other_frame", "definitions", "etag", "json", "paths", "size")

    def __init__(
        self,
        paths: Mapping[str, bytes],
        definitions: Mapping[str, bytes],
        *,
        is_v3: bool,
        etag: str = "",
        frame: dict[str, Any] | None = None,
    ) -> None:
        """``frame``: all but paths and definitions, whose places in it are empty objects; None: that of this server."""
        self._other_frame = frame
        self._is_v3 = is_v3
        self.paths = dict(sorted(paths.items()))
        self.definitions = dict(sorted(definitions.items()))
        #: Their concatenation is the JSON text.
        self.json = tuple(self._fragments())
        self.size = sum(map(len, self.json))
        #: SHA-512 of the JSON text in upper-case hexadecimal (upstream: ``computeETag``), unless another hash is given.
        self.etag = etag or _digest(self.json)

    def protobuf(self) -> tuple[bytes, ...]:
        """Return fragments whose concatenation is the document as a gnostic message."""
        dialect = protobuf.V3 if self._is_v3 else protobuf.V2
        paths = [dialect.path_item(name, msgspec.json.decode(item)) for name, item in self.paths.items()]
        definitions = [dialect.definition(name, msgspec.json.decode(item)) for name, item in self.definitions.items()]
        return dialect.document(self._frame(), paths, definitions)

    def _frame(self) -> dict[str, Any]:
        """Return the document without its paths and definitions."""
        if self._other_frame is not None:
            return self._other_frame
        if self._is_v3:
            schemes: dict[str, Any] = {"schemas": {}, "securitySchemes": _SECURITY_SCHEMES}
            return {"openapi": "3.0.0", "info": _INFO, "paths": {}, "components": schemes, "security": _SECURITY}
        return {
            "swagger": "2.0",
            "info": _INFO,
            "paths": {},
            "definitions": {},
            "securityDefinitions": _SECURITY_SCHEMES,
            "security": _SECURITY,
        }

    def _fragments(self) -> Iterator[bytes]:
        frame = msgspec.json.encode(self._frame())
        head, path_key, rest = frame.partition(b'"paths":{')
        middle, definition_key, tail = rest.partition(b'"schemas":{' if self._is_v3 else b'"definitions":{')
        yield head + path_key
        yield from _members(self.paths)
        yield middle + definition_key
        yield from _members(self.definitions)
        yield tail


def _members(encoded: Mapping[str, bytes]) -> Iterator[bytes]:
    separator = b""
    for name, value in encoded.items():
        yield b"%b%b:" % (separator, msgspec.json.encode(name))
        yield value
        separator = b","


def _digest(fragments: tuple[bytes, ...]) -> str:
    digest = hashlib.sha512()
    for fragment in fragments:
        digest.update(fragment)
    return digest.hexdigest().upper()


def pieces(fragments: tuple[bytes, ...], size_max: int) -> Iterator[bytes]:
    """Yield the concatenation of fragments in pieces of at most ``size_max`` bytes."""
    waiting: list[bytes] = []
    room = size_max
    for fragment in fragments:
        start = 0
        while len(fragment) - start >= room:
            waiting.append(fragment[start : start + room])
            start += room
            yield b"".join(waiting)
            waiting, room = [], size_max
        if start < len(fragment):
            waiting.append(fragment[start:] if start else fragment)
            room -= len(fragment) - start
    if waiting:
        yield b"".join(waiting)
