"""Writes as admission policies and webhooks see them: objects in the matched version, and the AdmissionRequest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.errors import StatusError, internal_error
from steersman.apimachinery.trees import copy_tree
from steersman.apiserver.admission.interface import Operation
from steersman.apiserver.generic.options import DeleteOptions, WriteOptions
from steersman.apiserver.workers import in_worker, run_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.generic.served import ServedResource
    from steersman.schema.resources import Resource

    FindServed = Callable[[str, str, str], ServedResource | None]


def kind_of(resource: Resource, subresource: str) -> dict[str, str]:
    """Return group, version and kind of the request body."""
    for declared in resource.subresources if subresource else ():
        if declared.name == subresource:
            group = declared.group if declared.version else resource.group
            return {"group": group, "version": declared.version or resource.version, "kind": declared.kind}
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


async def objects_in_version(
    attributes: Attributes, matched: Resource, find: FindServed
) -> tuple[Tree | None, Tree | None]:
    """Return the new and the old object of the write in the matched version; read-only.

    Raises 500 if a conversion webhook fails. Upstream: ``VersionedAttributes``.
    """
    new, old = attributes.object, attributes.old_object
    own = attributes.served
    if own.converter is None:
        if not attributes.ctx.is_large:
            return in_version(new, attributes, matched, find), in_version(old, attributes, matched, find)
        return (
            await in_worker(in_version, new, attributes, matched, find),
            await in_worker(in_version, old, attributes, matched, find),
        )
    served = find(matched.group, matched.version, matched.name)
    is_own_kind = kind_of(matched, attributes.subresource)["kind"] == matched.kind
    if served is None or served.converter is None or not is_own_kind:
        return new, old
    converted = iter(await served.converter.trees([tree for tree in (new, old) if tree is not None]))
    return None if new is None else next(converted), None if old is None else next(converted)


async def in_request_version(tree: Tree, attributes: Attributes, served: ServedResource) -> Tree:
    """Return an object of the version of ``served`` as the write pipeline holds it.

    Raises 500 if a conversion webhook fails.
    """
    own = attributes.served
    if own.converter is None:
        return await run_step(_in_storage_version, attributes.ctx.is_large, tree, served)
    try:
        [converted] = await own.converter.trees([tree])
    except StatusError as error:
        raise internal_error(error.message) from None
    return copy_tree(converted)  # type: ignore[no-any-return]


def _in_storage_version(tree: Tree, served: ServedResource) -> Tree:
    copy: Tree = copy_tree(tree)
    return copy if served.to_storage is None else served.to_storage(copy)


def in_version(tree: Tree | None, attributes: Attributes, matched: Resource, find: FindServed) -> Tree | None:
    """Return an object of the write in the matched version, by functions that do not wait; read-only."""
    if tree is None or kind_of(matched, attributes.subresource)["kind"] != matched.kind:
        return tree
    served = find(matched.group, matched.version, matched.name)
    if served is None or served.from_storage is None:
        return tree
    return served.from_storage(copy_tree(tree))


def request_of(attributes: Attributes, matched: Resource) -> Tree:
    """Return the value of ``request``: an AdmissionRequest without objects and, as in Go, without empty strings."""
    own, user, subresource = attributes.resource, attributes.user, attributes.subresource
    is_own = matched is own
    kind, resource = kind_of(own, subresource), _resource_of(own)
    request = {
        "kind": kind if is_own else kind_of(matched, subresource),
        "resource": resource if is_own else _resource_of(matched),
        "subResource": subresource,
        "requestKind": kind,
        "requestResource": resource,
        "requestSubResource": subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation.value,
        "userInfo": _without_empty(
            {
                "username": user.name,
                "uid": user.uid,
                "groups": list(user.groups),
                "extra": {key: list(values) for key, values in user.extra.items()} if user.extra else None,
            }
        ),
        "options": options_of(attributes),
    }
    return _without_empty(request) | {"dryRun": attributes.dry_run}


def _resource_of(resource: Resource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.name}


def _without_empty(tree: Tree) -> Tree:
    return {key: value for key, value in tree.items() if value}


def options_of(attributes: Attributes) -> Tree | None:
    """Return the options of the write; None for CONNECT."""
    options = attributes.options
    if isinstance(options, DeleteOptions):
        return options.tree()
    if isinstance(options, WriteOptions):
        return options.tree("CreateOptions" if attributes.operation is Operation.CREATE else "UpdateOptions")
    return None
