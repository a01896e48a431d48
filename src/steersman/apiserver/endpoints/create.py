"""POST: create an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.endpoints.create_bodies import parts_of
from steersman.apiserver.endpoints.media import JSON, SLOW, body_media_type
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.object_write import ObjectWrite
from steersman.apiserver.endpoints.options import read_write_options
from steersman.apiserver.generic.write_pipeline import run_create
from steersman.apiserver.generic.writing import dedupe_owner_references, ensure_object_namespace, wipe_system_fields
from steersman.apiserver.workers import LARGE_SLOW_BYTES, is_large

if TYPE_CHECKING:
    from steersman.apiserver.endpoints.create_bodies import Parts
    from steersman.apiserver.endpoints.request_scope import RequestScope
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.request import RequestContext


class Create(ObjectWrite):
    """Create of the object in a body."""

    __slots__ = ("_media_type", "_parts", "_raw")

    def __init__(  # noqa: PLR0917 — by position costs less
        self,
        scope: RequestScope,
        request: Request,
        ctx: RequestContext,
        options: WriteOptions,
        raw: bytes,
        media_type: str,
    ) -> None:
        super().__init__(scope, request, ctx, options, "")
        self._raw: Final = raw
        self._media_type: Final = media_type
        #: Texts of metadata and spec, if the body may be added to the cache.
        self._parts: Parts | None = None

    def decode(self) -> None:
        cache = self.scope.create_bodies if self._media_type == JSON else None
        parts = None if cache is None else parts_of(self._raw)
        if cache is not None and parts is not None:
            cached = cache.read(self._raw, parts)
            if cached is not None:
                self.new, self.cached_spec = cached
                return
        warnings = len(self.ctx.warnings)
        self.new = self.scope.decoder.decode(self._raw, self._media_type, self.options, self.ctx.warn)
        if not self.options.lenient and len(self.ctx.warnings) == warnings:
            self._parts = parts

    def match_path(self) -> None:
        metadata = self.new["metadata"]
        wipe_system_fields(metadata)
        ensure_object_namespace(metadata, self.ctx.namespace)
        dedupe_owner_references(metadata, self.ctx.warn)

    def default(self) -> None:
        if self.cached_spec is not None:
            self.scope.default_except_spec(self.new)
            return
        self.scope.default(self.new)
        cache = self.scope.create_bodies
        if self._parts is not None and cache is not None:
            self.ctx.is_first_of_spec = cache.add(self._raw, self._parts, self.new)


async def create(scope: RequestScope, request: Request) -> Response:
    """Return 201 and the object as it was stored. Raises 400, 403, 404 (the namespace), 406, 409, 413, 415, 422."""
    served = scope.served
    form = negotiate(request, is_custom=served.is_custom)
    media_type = body_media_type(request, is_custom=served.is_custom)
    raw = await request.body()
    options = read_write_options(request, "CreateOptions")
    ctx = scope.write_context(request, options)
    if len(raw) > LARGE_SLOW_BYTES:
        ctx.is_large = is_large(len(raw), is_slow=media_type in SLOW)
    entry = await run_create(Create(scope, request, ctx, options, raw, media_type))
    return await scope.render(request, entry, form=form, code=201)
