"""Parameters of policies: objects that bindings reference or select."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.selectors.labels import from_label_selector

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.served import ServedResource

    FindKind = Callable[[str, str], ServedResource | None]


class ConfigurationError(Exception):
    """Invalid policy or binding; clients receive the message."""


def served_kind(kind: Tree, find: FindKind) -> ServedResource:
    """Return the resource of a ``paramKind``. Raises ConfigurationError."""
    api_version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    served = find(api_version, name)
    if served is None:
        shown = api_version if "/" in api_version else f"/{api_version}"
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{shown}, Kind={name}'")
    return served


async def collect(reference: Tree | None, served: ServedResource | None, *, namespace: str) -> Sequence[Tree | None]:
    """Return the parameters of a binding; a single None without parameters. Raises ConfigurationError."""
    if served is None or reference is None:
        return [None]
    params_namespace = ""
    if served.resource.namespaced:
        params_namespace = reference.get("namespace") or namespace
        if not params_namespace:
            raise ConfigurationError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            )
    elif reference.get("namespace"):
        raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    parameters = await _find(reference, served, params_namespace)
    if not parameters and reference.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return parameters


async def _find(reference: Tree, served: ServedResource, namespace: str) -> list[Tree]:
    cache = served.cache
    if not cache.is_ready:
        await cache.ready()
    if cache.remote:
        await cache.wait_fresh()
    name = reference.get("name")
    if name:
        entry = cache.get(cache.key(namespace, name))
        return [] if entry is None else await _trees(served, [entry])
    selector = from_label_selector(reference.get("selector"))
    trees = await _trees(served, cache.snapshot(cache.scope(namespace)))
    return [tree for tree in trees if selector.matches(tree["metadata"].get("labels"))]


async def _trees(served: ServedResource, entries: Sequence[Entry]) -> list[Tree]:
    """Return stored objects in the version served. Raises ConfigurationError if they cannot be converted."""
    if served.converter is not None:
        try:
            entries = await served.converter.entries(entries)
        except StatusError as error:
            raise ConfigurationError(error.message) from None
    return [served.tree(entry) for entry in entries]
