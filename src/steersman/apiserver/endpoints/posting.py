"""POSTs of objects that are not stored: they act on a stored object (Binding, Eviction), or are answered (reviews).

They pass the steps of the write pipeline up to mutating admission (``read``) and validating admission (``admit``); what they ask for
takes the place of the rest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.apiserver.admission.chain import run
from steersman.apiserver.endpoints.body import ObjectDecoder
from steersman.apiserver.endpoints.media import SLOW, body_media_type
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.object_write import ObjectWrite
from steersman.apiserver.endpoints.options import read_write_options
from steersman.apiserver.endpoints.representation import render_tree
from steersman.apiserver.endpoints.request_scope import RequestScope
from steersman.apiserver.generic.write_pipeline import read
from steersman.apiserver.generic.writing import dedupe_owner_references, ensure_object_namespace, wipe_system_fields
from steersman.apiserver.workers import is_large
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection

    from steersman.apiserver.admission.chain import AdmissionChain
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.endpoints.negotiation import Form
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.request import RequestContext

_SUCCESS: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class PostScope(RequestScope):
    """Request scope of a subresource to which objects of another kind are posted."""

    __slots__ = ("keeps_system_fields",)

    def __init__(
        self,
        served: ServedResource,
        *,
        admission: AdmissionChain,
        authorizer: Authorizer,
        subresource: str,
        kind: str,
        group_version: tuple[str, str],
        also: Collection[str] = (),
        keeps_system_fields: bool = False,
    ) -> None:
        """``keeps_system_fields``: a posted uid is a precondition. ``also``: other accepted apiVersions."""
        group, version = group_version
        struct = struct_for(group, version, kind)
        api_version = f"{group}/{version}" if group else version
        decoder = ObjectDecoder(kind, api_version, partial(decode, struct), struct=struct, also=also)
        super().__init__(served, admission=admission, authorizer=authorizer, subresource=subresource, decoder=decoder)
        self.struct = struct
        self.api_version = api_version
        self.keeps_system_fields: Final = keeps_system_fields


class PostWrite(ObjectWrite):
    """Write of a posted object, up to admission."""

    __slots__ = ("_keeps_system_fields", "_media_type", "_raw")

    def __init__(  # noqa: PLR0917 — in the order of the request's parts
        self,
        scope: PostScope,
        request: Request,
        ctx: RequestContext,
        options: WriteOptions,
        raw: bytes,
        media_type: str,
    ) -> None:
        super().__init__(scope, request, ctx, options, request.info.name)
        self._keeps_system_fields: Final = scope.keeps_system_fields
        self._raw: Final = raw
        self._media_type: Final = media_type

    @property
    def object_name(self) -> str:
        """Return the name of the object that it acts on: that in the path, or else that of the posted object."""
        return self.name or self.new["metadata"].get("name") or ""

    def decode(self) -> None:
        self.new = self.scope.decoder.decode(self._raw, self._media_type, self.options, self.ctx.warn)

    def match_path(self) -> None:
        metadata = self.new["metadata"]
        if not self._keeps_system_fields:
            wipe_system_fields(metadata)
        ensure_object_namespace(metadata, self.ctx.namespace)
        dedupe_owner_references(metadata, self.ctx.warn)

    def default(self) -> None:
        """Do nothing: posted kinds have no defaults."""

    def manage_fields(self) -> None:
        """Set managed fields, which admission sees though the object is not stored."""
        self.scope.manage_fields(self.ctx, self.new, None)

    def admit(self) -> Awaitable[None] | None:
        plugins = self.scope.create_steps.validate
        if not plugins:
            return None
        name = self.object_name
        return run(plugins, self.scope.validation_attributes(self.ctx, self.new, None, self.options, name))


async def read_posted(scope: PostScope, request: Request, write: type[PostWrite] = PostWrite) -> tuple[PostWrite, Form]:
    """Return the posted object as mutating admission leaves it. Raises 400, 403, 404, 406, 413, 415, 422."""
    form = negotiate(request, has_table=False)
    media_type = body_media_type(request)
    raw = await request.body()
    options = read_write_options(request, "CreateOptions")
    ctx = scope.write_context(request, options)
    ctx.is_large = is_large(len(raw), is_slow=media_type in SLOW)
    posted = write(scope, request, ctx, options, raw, media_type)
    await read(posted)
    return posted, form


async def render_success(request: Request, form: Form) -> Response:
    """Return 201 and a Status without details."""
    return await render_tree(request, dict(_SUCCESS), form=form, code=201)
