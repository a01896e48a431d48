"""Writes as admission policies and webhooks see them: objects in the matched version, and the AdmissionRequest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.envelope import TypeMeta, type_meta
from steersman.apimachinery.errors import StatusError, internal_error
from steersman.apimachinery.gotext import quote, to_json
from steersman.apimachinery.trees import copy_tree
from steersman.apiserver.admission.interface import Operation
from steersman.apiserver.generic.options import DeleteOptions, WriteOptions
from steersman.apiserver.workers import in_worker, run_step
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

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


class KindChange(NamedTuple):
    """Why an object that a webhook or a policy gave another kind cannot be decoded, or converted back."""

    is_registered: bool
    reason: str


def changed_kind(patched: Any, before: Tree, served: ServedResource | None) -> KindChange | None:
    """Return why a patched object of another kind cannot be used; None if its kind is unchanged or left out.

    The kind of a custom object is required, and only its version is checked here: validation rejects another kind.
    Raises DecodeError for what is not an object with a kind.
    """
    old_meta = TypeMeta(before.get("apiVersion", ""), before.get("kind", ""))
    meta = type_meta(patched)
    if served is not None and served.is_custom:
        return _changed_version(patched, meta, old_meta, served.custom_versions)
    new_meta = TypeMeta(meta.api_version or old_meta.api_version, meta.kind or old_meta.kind)
    if new_meta == old_meta:
        return None
    try:
        struct_for(new_meta.group, new_meta.version, new_meta.kind)
    except KeyError:
        return KindChange(
            is_registered=False,
            reason=f"no kind {quote(new_meta.kind)} is registered for version {quote(new_meta.api_version)}",
        )
    own = f"{old_meta.group.partition('.')[0] or 'core'}.{old_meta.kind}"
    reason = f"converting ({new_meta.version}.{new_meta.kind}) to ({own}): unknown conversion"
    return KindChange(is_registered=True, reason=reason)


def _changed_version(
    patched: Any, new_meta: TypeMeta, old_meta: TypeMeta, versions: Collection[str]
) -> KindChange | None:
    """Return why a patched custom object of another version cannot be converted back. Upstream: ``crConverter``."""
    if not new_meta.kind:
        raise DecodeError(f"Object 'Kind' is missing in '{to_json(patched, sort_keys=True)}'")
    if new_meta.api_version == old_meta.api_version:
        return None
    if new_meta.group != old_meta.group:
        shown = f"{new_meta.group}/{new_meta.version}, Kind={new_meta.kind}"
        reason = f"{shown} is unstructured and is not suitable for converting to {quote(old_meta.api_version)}"
    elif new_meta.api_version not in versions:
        reason = f"request to convert CR from an invalid group/version: {new_meta.api_version}"
    else:
        return None
    return KindChange(is_registered=True, reason=reason)


def _has_own_kind(resource: Resource, subresource: str) -> bool:
    """True if the request body is of the resource's own kind."""
    return not subresource or kind_of(resource, subresource)["kind"] == resource.kind


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
    if served is None or served.converter is None or not _has_own_kind(matched, attributes.subresource):
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
    if tree is None or not _has_own_kind(matched, attributes.subresource):
        return tree
    served = find(matched.group, matched.version, matched.name)
    if served is None or served.from_storage is None:
        return tree
    return served.from_storage(copy_tree(tree))


def request_of(attributes: Attributes, matched: Resource) -> Tree:
    """Return the value of ``request``: an AdmissionRequest without objects and, as in Go, without empty strings."""
    fields = fields_of_kind(attributes, matched) | fields_of_write(attributes)
    return {name: value for name, value in fields.items() if value or name == "dryRun"}


def fields_of_kind(attributes: Attributes, matched: Resource) -> Tree:
    """Return the fields of an AdmissionRequest that all writes of one kind share: resource, subresource and operation."""
    own, subresource = attributes.resource, attributes.subresource
    kind, resource = kind_of(own, subresource), _resource_of(own)
    return _without_empty(
        {
            "kind": kind_of(matched, subresource),
            "resource": _resource_of(matched),
            "subResource": subresource,
            "requestKind": kind,
            "requestResource": resource,
            "requestSubResource": subresource,
            "operation": attributes.operation.value,
        }
    )


def fields_of_write(attributes: Attributes) -> Tree:
    """Return the fields of an AdmissionRequest that differ between writes of one kind, without objects; some may be empty."""
    fields: Tree = {}
    if attributes.name:
        fields["name"] = attributes.name
    if attributes.namespace:
        fields["namespace"] = attributes.namespace
    fields["userInfo"] = attributes.user.tree()
    fields["options"] = options_of(attributes)
    fields["dryRun"] = attributes.dry_run
    return fields


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
