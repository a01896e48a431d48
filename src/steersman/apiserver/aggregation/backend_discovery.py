"""Discovery documents of backends, as the rows of aggregated discovery.

A backend is asked for its aggregated document; one that has none answers with the list of one group version, which is
converted. Upstream: ``k8s.io/apiserver/pkg/endpoints/discovery/aggregated/converter.go``, ``kube-aggregator/pkg/apiserver/handler_discovery.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

ACCEPT: Final = (
    b"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    b"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)


class _Kind(msgspec.Struct, omit_defaults=True):
    group: str | None = None
    version: str | None = None
    kind: str | None = None


class _Subresource(msgspec.Struct, omit_defaults=True, rename="camel"):
    subresource: str | None = None
    response_kind: _Kind | None = None
    accepted_types: list[_Kind] | None = None
    verbs: list[str] | None = None


class _Resource(msgspec.Struct, omit_defaults=True, rename="camel"):
    """``APIResourceDiscovery``; its rows are published, also in protobuf, so that their types are checked."""

    resource: str | None = None
    response_kind: _Kind | None = None
    scope: str | None = None
    singular_resource: str | None = None
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[_Subresource] | None = None


class DiscoveryError(ValueError):
    """A document of a backend cannot be used; the text says why."""


def read_document(body: bytes, kind: str) -> Tree:
    """Decode a document. Raises ``DiscoveryError`` unless it is an object of that kind."""
    try:
        tree = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DiscoveryError(f"the discovery document cannot be decoded: {error}") from error
    if not isinstance(tree, dict) or tree.get("kind") != kind:
        raise DiscoveryError(f"the discovery document is no {kind}")
    return tree


def resources_in(document: Tree, group: str, version: str) -> tuple[Tree, ...] | None:
    """Return the rows of one version in an ``APIGroupDiscoveryList``; None if the backend does not serve it.

    Raises ``DiscoveryError`` for rows with values of other types.
    """
    for item in _objects(document.get("items")):
        metadata = item.get("metadata")
        if isinstance(metadata, dict) and metadata.get("name") == group:
            for entry in _objects(item.get("versions")):
                if entry.get("version") == version:
                    return _checked(_objects(entry.get("resources")))
    return None


def _checked(rows: list[Tree]) -> tuple[Tree, ...]:
    try:
        return tuple(msgspec.to_builtins(resource) for resource in msgspec.convert(rows, list[_Resource]))
    except msgspec.ValidationError as error:
        raise DiscoveryError(f"the discovery document has resources that cannot be decoded: {error}") from error


def convert_resource_list(document: Tree) -> tuple[Tree, ...]:
    """Return an ``APIResourceList`` as rows of aggregated discovery."""
    rows: dict[str, Tree] = {}
    subresources: list[tuple[str, str, Tree]] = []
    for resource in _objects(document.get("resources")):
        name, _, subresource = str(resource.get("name") or "").partition("/")
        if subresource:
            subresources.append((name, subresource, resource))
        else:
            rows[name] = _row(name, resource)
    for name, subresource, resource in subresources:
        # a parent that is not listed itself has no verbs
        parent = rows.setdefault(
            name, {"resource": name, "scope": _scope(resource), "singularResource": "", "verbs": []}
        )
        row = {"subresource": subresource, "responseKind": _kind(resource), "verbs": _texts(resource.get("verbs"))}
        parent.setdefault("subresources", []).append(row)
    return tuple(rows.values())


def _row(name: str, resource: Tree) -> Tree:
    row: Tree = {
        "resource": name,
        "responseKind": _kind(resource),
        "scope": _scope(resource),
        "singularResource": str(resource.get("singularName") or ""),
        "verbs": _texts(resource.get("verbs")),
    }
    for key in ("shortNames", "categories"):
        if values := _texts(resource.get(key)):
            row[key] = values
    return row


def _kind(resource: Tree) -> Tree:
    return {key: str(resource.get(key) or "") for key in ("group", "version", "kind")}


def _scope(resource: Tree) -> str:
    return "Namespaced" if resource.get("namespaced") else "Cluster"


def _objects(value: Any) -> list[Tree]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
