"""POSTs of objects that are not kept, but do something to one that is (a Binding, an Eviction): read, admitted, answered."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apiserver.endpoints.body import ObjectDecoder
from steersman.apiserver.endpoints.media import YAML, body_media_type
from steersman.apiserver.endpoints.negotiation import Form, negotiate
from steersman.apiserver.endpoints.options import read_write_options
from steersman.apiserver.endpoints.representation import render_tree
from steersman.apiserver.endpoints.target import Target
from steersman.apiserver.generic.options import WriteOptions  # noqa: TC001 — compiled code looks at a Struct's types
from steersman.apiserver.generic.writing import dedupe_owner_references, fit_namespace, wipe_system_fields
from steersman.apiserver.request import RequestContext  # noqa: TC001 — as above
from steersman.apiserver.workers import in_worker, is_large
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from collections.abc import Collection

    from steersman.apiserver.admission.chain import AdmissionChain
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request, Response

Tree = dict[str, Any]

_SUCCESS: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class PostTarget(Target):
    """A subresource to which objects of another kind are posted."""

    __slots__ = ("_keeps_system_fields",)

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
        """``keeps_system_fields``: a posted uid is a precondition and no mistake. ``also``: apiVersions taken as well."""
        group, version = group_version
        struct = struct_for(group, version, kind)
        api_version = f"{group}/{version}" if group else version
        decoder = ObjectDecoder(kind, api_version, partial(decode, struct), also=also)
        super().__init__(served, admission=admission, authorizer=authorizer, subresource=subresource, decoder=decoder)
        self.struct = struct
        self.api_version = api_version
        self._keeps_system_fields: Final = keeps_system_fields

    async def read(self, request: Request) -> Posted:
        """What was posted, as mutating admission leaves it. Raises 400, 403, 404, 406, 413, 415, 422."""
        form = negotiate(request)
        media_type = body_media_type(request)
        raw = await request.body()
        options = read_write_options(request, "CreateOptions")
        ctx = self.write_context(request, options)
        ctx.is_large = is_large(len(raw), is_yaml=media_type == YAML)
        if ctx.is_large:
            tree = await in_worker(self.decoder.decode, raw, media_type, options, ctx.warn)
        else:
            tree = self.decoder.decode(raw, media_type, options, ctx.warn)
        metadata = tree["metadata"]
        if not self._keeps_system_fields:
            wipe_system_fields(metadata)
        fit_namespace(metadata, ctx.namespace)
        dedupe_owner_references(metadata, ctx.warn)
        name = request.info.name or metadata.get("name") or ""
        tree = await self.stored(ctx, tree, None, options, name)
        return Posted(name, tree, ctx, options, form)

    async def check(self, posted: Posted) -> None:
        """Validating admission's word. Raises what that refuses with."""
        if self.create_steps.validate:
            await self.create_steps.check(
                self.attributes(posted.ctx, posted.tree, None, posted.options, posted.name),
            )


class Posted(msgspec.Struct, frozen=True):
    """One object that was posted."""

    #: Of the object that it is about: the path's, or (without one) the posted object's own.
    name: str
    tree: Tree
    ctx: RequestContext
    options: WriteOptions
    form: Form


async def render_success(request: Request, posted: Posted) -> Response:
    """201, and a Status that says no more than that."""
    return await render_tree(request, dict(_SUCCESS), form=posted.form, code=201)
