"""OpenAPI documents of aggregated API servers, and how they are merged with this server's own.

Version 3 has one document per group version: those of backends are listed with their own hashes, and requests for them are
forwarded. Version 2 has one document of all, into which the backends' paths and definitions are merged.

Upstream: ``kube-aggregator/pkg/controllers/{openapi,openapiv3}/aggregator``, ``kube-openapi/pkg/aggregator``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from steersman.apiserver.openapi.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from steersman.apiserver.http import Request, Response

REFERENCE: Final = "#/definitions/"


class RemoteSwagger:
    """Paths and definitions of one backend's group version, decoded; compared by identity and never modified."""

    __slots__ = ("definitions", "paths")

    def __init__(self, paths: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
        self.paths: Final = paths
        self.definitions: Final = definitions


class RemoteDocuments(Protocol):
    """Documents of all backends."""

    def urls(self) -> Mapping[str, str]:
        """Return the addresses with their hashes, by path below ``/openapi/v3/``."""
        ...

    def swaggers(self) -> tuple[RemoteSwagger, ...]:
        """Return the parts of version 2; a part is the same object until it changes."""
        ...

    def document(self, path: str) -> Document | None:
        """Return the version 3 document of a backend that serves version 2 only; None if no such backend has the path."""
        ...

    async def serve(self, request: Request, path: str) -> Response | None:
        """Forward a request for a document of version 3; None if no backend has the path."""
        ...


def select_paths(document: Any, prefix: str) -> RemoteSwagger:
    """Return the paths of a Swagger document at or below ``prefix``, and the definitions that they need.

    Raises ``ValueError`` for an invalid document.
    """
    tree = document if isinstance(document, dict) else {}
    paths, definitions = tree.get("paths"), tree.get("definitions") or {}
    if tree.get("swagger") != "2.0" or not isinstance(paths, dict) or not isinstance(definitions, dict):
        raise ValueError("not a Swagger 2.0 document")
    selected = {name: item for name, item in paths.items() if f"{name}/".startswith(f"{prefix}/")}
    needed: dict[str, Any] = {}
    waiting = list(_references(selected))
    while waiting:
        name = waiting.pop()
        if name not in needed and name in definitions:
            needed[name] = definitions[name]
            waiting += _references(definitions[name])
    return RemoteSwagger(selected, needed)


def merge(document: Document, remotes: Iterable[RemoteSwagger]) -> Document:
    """Return a document with the paths and definitions of backends added.

    Existing paths win. A definition that differs from one of the same name gets the next free name.
    """
    paths, definitions = dict(document.paths), dict(document.definitions)
    for remote in remotes:
        names = _free_names(remote.definitions, definitions)
        for name, definition in remote.definitions.items():
            if names[name] not in definitions:
                definitions[names[name]] = msgspec.json.encode(_renamed(definition, names))
        for path, item in remote.paths.items():
            if path not in paths:
                paths[path] = msgspec.json.encode(_renamed(item, names))
    return Document(paths, definitions, is_v3=False)


def _free_names(added: Mapping[str, Any], present: Mapping[str, bytes]) -> dict[str, str]:
    """Return the name of each definition: its own, or with a number if another definition has it."""
    names: dict[str, str] = {}
    for name, definition in added.items():
        candidate, number = name, 1
        while candidate in present and msgspec.json.decode(present[candidate]) != definition:
            number += 1
            candidate = f"{name}_v{number}"
        names[name] = candidate
    return names


def _references(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "$ref" and isinstance(item, str):
                yield item.removeprefix(REFERENCE)
            else:
                yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a part of a document with its references by the new names."""
    if isinstance(value, dict):
        return {
            name: f"{REFERENCE}{names.get(target, target)}"
            if name == "$ref" and isinstance(item, str) and (target := item.removeprefix(REFERENCE))
            else _renamed(item, names)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return value
