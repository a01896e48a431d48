"""PATCH: change an object in one of four ways; an apply also creates it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import bad_request, conflict, generic_server_response, unsupported_media_type
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.object_write import ObjectWrite
from steersman.apiserver.endpoints.options import read_patch_options
from steersman.apiserver.endpoints.patching import (
    ApplyCBORPatch,
    ApplyPatch,
    JSONPatch,
    MergePatch,
    StrategicMergePatch,
)
from steersman.apiserver.generic.write_pipeline import run_update
from steersman.apiserver.generic.writing import ensure_object_name, ensure_object_namespace
from steersman.apiserver.workers import is_large

if TYPE_CHECKING:
    from steersman.apiserver.endpoints.patching import Patch
    from steersman.apiserver.endpoints.request_scope import RequestScope
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.request import RequestContext

_PATCH_TYPES: Final[dict[str, type[Patch]]] = {
    "application/json-patch+json": JSONPatch,
    "application/merge-patch+json": MergePatch,
    "application/strategic-merge-patch+json": StrategicMergePatch,
    "application/apply-patch+yaml": ApplyPatch,
}
#: Only built-in types declare the merge keys and strategies of a strategic merge.
_PATCH_TYPES_OF_CUSTOM: Final = {
    media_type: patch for media_type, patch in _PATCH_TYPES.items() if patch is not StrategicMergePatch
}
#: Supported as well with the feature gate ``CBORServingAndStorage``.
_CBOR_APPLY: Final = "application/apply-patch+cbor"


class PatchWrite(ObjectWrite):
    """Update of the stored object by a patch."""

    __slots__ = ("_patch", "is_noop")

    def __init__(
        self,
        scope: RequestScope,
        request: Request,
        ctx: RequestContext,
        options: WriteOptions,
        patch: Patch,
    ) -> None:
        super().__init__(scope, request, ctx, options, request.info.name, may_create=patch.may_create)
        self._patch: Final = patch
        #: The patch changed nothing; only set for applies to objects that are not large.
        self.is_noop = False

    def decode(self) -> None:
        self.new = self._patch.apply_to(self.old, self.name)

    def match_path(self) -> None:
        metadata = self.new["metadata"]
        if self.old is None and metadata.get("uid"):
            reason = (
                f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
            )
            raise conflict(self.scope.group_resource, self.name, reason)
        ensure_object_namespace(metadata, self.ctx.namespace)
        ensure_object_name(metadata, self.name)

    def default(self) -> None:
        if not self._patch.is_apply:
            self.scope.default(self.new)

    def manage_fields(self) -> None:
        if not self._patch.is_apply:
            self.scope.manage_fields(self.ctx, self.new, self.old)
        elif self.old is not None and not self.ctx.is_large and self.scope.noop_applies is not None:
            self.is_noop = self.new == self.scope.in_request_version(self.old)


async def patch(scope: RequestScope, request: Request) -> Response:
    """Return 200 and the object as it was stored, 201 when an apply created it.

    Raises 400, 403, 404, 406, 409, 413, 415, 422, and 500 for the patches that upstream answers so.
    """
    served = scope.served
    patch_type = _patch_type(request, is_custom=served.is_custom)
    if not request.info.name:
        raise bad_request("name must be provided")
    form = negotiate(request, is_custom=served.is_custom)
    raw = await request.body()
    is_apply = patch_type.is_apply
    options = read_patch_options(request, is_apply=is_apply)
    ctx = scope.write_context(request, options)
    name = request.info.name
    noops = scope.noop_applies if is_apply else None
    key = None if noops is None else noops.key(ctx, options, name, raw)
    if noops is not None:
        unchanged = await noops.unchanged(key, scope, ctx, options, name)
        if unchanged is not None:
            return await scope.render(request, unchanged, form=form)
    write = PatchWrite(scope, request, ctx, options, patch_type(scope, ctx, options, raw))
    before = scope.objects.cached(ctx, name)
    ctx.is_large = is_large(len(raw), is_slow=is_apply) or (before is not None and is_large(len(before.raw)))
    entry = await run_update(write)
    if noops is not None and write.is_noop and entry is before and not request.warnings:
        noops.note(key, entry)
    return await scope.render(request, entry, form=form, code=201 if write.created else 200)


def _patch_type(request: Request, *, is_custom: bool) -> type[Patch]:
    """Return the patch type of the body's media type. Raises 415."""
    media_type = request.header(b"content-type").partition(";")[0].strip()
    patch_types = _PATCH_TYPES_OF_CUSTOM if is_custom else _PATCH_TYPES
    patch_type = patch_types.get(media_type)
    if patch_type is not None:
        return patch_type
    if request.offers_cbor and media_type == _CBOR_APPLY:
        return ApplyCBORPatch
    if is_custom:
        raise unsupported_media_type((*patch_types, _CBOR_APPLY) if request.offers_cbor else patch_types)
    raise generic_server_response(415, server_message="415: Unsupported Media Type")
