"""PATCH: a change of what is there, told in one of four ways; an apply also makes what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.errors import conflict, generic_server_response, unsupported_media_type
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.options import read_patch_options
from steersman.apiserver.endpoints.patching import ApplyPatch, JSONPatch, MergePatch, StrategicMergePatch
from steersman.apiserver.endpoints.update import creation_word, last_word
from steersman.apiserver.generic.store import Change
from steersman.apiserver.generic.writing import dedupe_owner_references, fit_name, fit_namespace
from steersman.apiserver.workers import in_worker, is_large

if TYPE_CHECKING:
    from steersman.apiserver.endpoints.patching import Mechanism
    from steersman.apiserver.endpoints.target import Target
    from steersman.apiserver.http import Request, Response

    Tree = dict[str, Any]

_MECHANISMS: Final[dict[str, type[Mechanism]]] = {
    "application/json-patch+json": JSONPatch,
    "application/merge-patch+json": MergePatch,
    "application/strategic-merge-patch+json": StrategicMergePatch,
    "application/apply-patch+yaml": ApplyPatch,
}
#: A strategic merge needs keys and strategies that only built-in types have.
_MECHANISMS_OF_CUSTOM: Final = {
    name: mechanism for name, mechanism in _MECHANISMS.items() if mechanism is not StrategicMergePatch
}


async def patch(target: Target, request: Request) -> Response:
    """200 and the object as it was stored, 201 when an apply created it.

    Raises 400, 403, 404, 406, 409, 413, 415, 422, and 500 for the patches that upstream answers so.
    """
    served = target.served
    make = _mechanism(request, is_custom=served.is_custom)
    form = negotiate(request, is_custom=served.is_custom)
    raw = await request.body()
    is_apply = make is ApplyPatch
    options = read_patch_options(request, is_apply=is_apply)
    ctx = target.write_context(request, options)
    name = request.info.name
    repeated = target.repeated_applies if is_apply else None
    key = None if repeated is None else repeated.key(ctx, options, name, raw)
    if repeated is not None:
        found = await repeated.unchanged(key, target, ctx, options, name)
        if found is not None:
            return await target.render(request, found, form=form)
    mechanism = make(target, ctx, options, raw)
    is_same = False

    async def transform(old: Tree | None) -> Tree:
        nonlocal is_same
        if ctx.is_large:
            new = await in_worker(mechanism.patched, old, name)
        else:
            new = mechanism.patched(old, name)
            # A large object is not worth the comparison: what repeats is small.
            is_same = repeated is not None and old is not None and new == target.live(old)
        metadata = new["metadata"]
        if old is None and metadata.get("uid"):
            why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
            raise conflict(target.group_resource, name, why)
        fit_namespace(metadata, ctx.namespace)
        fit_name(metadata, name)
        new = await target.stored(ctx, new, old, options, name)
        dedupe_owner_references(new["metadata"], ctx.warn, after_admission=True)
        return new

    change = Change(
        transform,
        validate=last_word(target, ctx, options, name),
        validate_create=creation_word(target, request, ctx, options),
        subresource=target.subresource,
        may_create=is_apply,
    )
    before = target.objects.cached(ctx, name)
    ctx.is_large = is_large(len(raw), is_yaml=is_apply) or (before is not None and is_large(len(before.raw)))
    entry, created = await target.objects.update(ctx, name, change)
    if repeated is not None and is_same and entry is before and not request.warnings:
        repeated.note(key, entry)
    return await target.render(request, entry, form=form, code=201 if created else 200)


def _mechanism(request: Request, *, is_custom: bool) -> type[Mechanism]:
    """By the body's media type. Raises 415."""
    media_type = request.header(b"content-type").partition(";")[0].strip()
    known = _MECHANISMS_OF_CUSTOM if is_custom else _MECHANISMS
    mechanism = known.get(media_type)
    if mechanism is not None:
        return mechanism
    if is_custom:
        raise unsupported_media_type(known)
    raise generic_server_response(415, server_message="415: Unsupported Media Type")
