"""Hashes of documents about built-in kinds, known without building the documents.

These documents are a function of their resources and of the code and data that render them. Clients cache documents by
hash, beyond the life of a server, so the hash covers the contents of all files that a document depends on, and not just
the version number. It is the same in all API servers of one release.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

import steersman.schema
from steersman.apimachinery import typemodel
from steersman.schema.descriptions import model_folders
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from steersman.schema.resources import Resource

#: Sources, compiled modules and tables.
_SUFFIXES: Final = frozenset({".json", ".py", ".pyd", ".so"})


@cache
def renderer_digest() -> bytes:
    """Return a digest of the code and data that render documents. Reads 1.7 MB once: for a worker thread."""
    digest = hashlib.sha512(KUBERNETES_VERSION.encode())
    for name, file in _files():
        digest.update(name.encode())
        digest.update(file.read_bytes())
    return digest.digest()


def built_in_etag(renderer: bytes, path: str, resources: Iterable[Resource]) -> str:
    """Return the hash of a document about built-in resources (none: about discovery), in the form of a content hash."""
    digest = hashlib.sha512(renderer)
    digest.update(msgspec.json.encode([path, sorted(resources, key=lambda resource: resource.name)]))
    return digest.hexdigest().upper()


def _files() -> Iterator[tuple[str, Path]]:
    """Yield the files with names that do not depend on where they are installed."""
    yield "typemodel", Path(typemodel.__file__)
    for folder in (Path(__file__).parent, Path(steersman.schema.__file__).parent, *model_folders()):
        for file in sorted(folder.rglob("*")):
            if file.suffix in _SUFFIXES and file.is_file():
                yield file.relative_to(folder).as_posix(), file
