"""PUT: replace an object; kinds that allow it are created, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.endpoints.media import SLOW, body_media_type
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.object_write import ObjectWrite
from steersman.apiserver.endpoints.options import read_write_options
from steersman.apiserver.generic.write_pipeline import decode_body, run_update
from steersman.apiserver.generic.writing import (
    dedupe_owner_references,
    ensure_object_name,
    ensure_object_namespace,
)
from steersman.apiserver.workers import is_large

if TYPE_CHECKING:
    from steersman.apiserver.endpoints.request_scope import RequestScope
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.request import RequestContext


class Update(ObjectWrite):
    """Update to the object in a body."""

    __slots__ = ("_media_type", "_raw")

    def __init__(  # noqa: PLR0917 — by position costs less
        self,
        scope: RequestScope,
        request: Request,
        ctx: RequestContext,
        options: WriteOptions,
        raw: bytes,
        media_type: str,
    ) -> None:
        super().__init__(scope, request, ctx, options, request.info.name)
        self._raw: Final = raw
        self._media_type: Final = media_type

    def decode(self) -> None:
        self.new = self.scope.decoder.decode(self._raw, self._media_type, self.options, self.ctx.warn)

    def match_path(self) -> None:
        metadata = self.new["metadata"]
        ensure_object_namespace(metadata, self.ctx.namespace)
        ensure_object_name(metadata, self.name)
        dedupe_owner_references(metadata, self.ctx.warn)
        self.uid = metadata.get("uid") or ""


async def update(scope: RequestScope, request: Request) -> Response:
    """Return 200 and the object as it was stored, 201 when it was created. Raises 400, 403, 404, 406, 409, 413, 415, 422."""
    served = scope.served
    form = negotiate(request, is_custom=served.is_custom)
    raw = await request.body()
    options = read_write_options(request, "UpdateOptions")
    media_type = body_media_type(request, is_custom=served.is_custom)
    ctx = scope.write_context(request, options)
    ctx.is_large = is_large(len(raw), is_slow=media_type in SLOW)
    write = Update(scope, request, ctx, options, raw, media_type)
    await decode_body(write)  # a body that cannot be read is a 400 also where there is no object
    entry = await run_update(write)
    return await scope.render(request, entry, form=form, code=201 if write.created else 200)
