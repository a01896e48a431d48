"""PUT: an object in the place of the one that is there; kinds that allow it are created so, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.endpoints.media import YAML, body_media_type
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.options import read_write_options
from steersman.apiserver.generic.store import Change
from steersman.apiserver.generic.writing import dedupe_owner_references, fit_name, fit_namespace
from steersman.apiserver.workers import in_worker, is_large

if TYPE_CHECKING:
    from typing import Any

    from steersman.apiserver.endpoints.target import Target
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.generic.store import Validate
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.request import RequestContext

    Tree = dict[str, Any]


async def update(target: Target, request: Request) -> Response:
    """200 and the object as it was stored, 201 when it was created. Raises 400, 403, 404, 406, 409, 413, 415, 422."""
    served = target.served
    form = negotiate(request, is_custom=served.is_custom)
    raw = await request.body()
    options = read_write_options(request, "UpdateOptions")
    media_type = body_media_type(request, is_custom=served.is_custom)
    ctx = target.write_context(request, options)
    name = request.info.name

    ctx.is_large = is_large(len(raw), is_yaml=media_type == YAML)

    def read() -> Tree:
        tree = target.decoder.decode(raw, media_type, options, ctx.warn)
        target.default(tree)
        fit_namespace(tree["metadata"], ctx.namespace)
        fit_name(tree["metadata"], name)
        dedupe_owner_references(tree["metadata"], ctx.warn)
        return tree

    tree = await in_worker(read) if ctx.is_large else read()
    unused = [tree]

    def owned(old: Tree | None) -> Tree:
        new = unused.pop() if unused else read()  # again after a lost race: the first tree has been changed
        target.own(ctx, new, old)
        return new

    async def transform(old: Tree | None) -> Tree:
        new = await in_worker(owned, old) if ctx.is_large else owned(old)
        return await target.stored(ctx, new, old, options, name)

    change = Change(
        transform,
        validate=last_word(target, ctx, options, name),
        validate_create=creation_word(target, request, ctx, options),
        subresource=target.subresource,
        uid=tree["metadata"].get("uid") or "",
    )
    entry, created = await target.objects.update(ctx, name, change)
    return await target.render(request, entry, form=form, code=201 if created else 200)


def last_word(target: Target, ctx: RequestContext, options: WriteOptions, name: str) -> Validate | None:
    """Validating admission of an update; None when no plugin cares."""
    check = target.update_steps.check
    if not target.update_steps.validate:
        return None

    async def validate(new: Tree, old: Tree | None) -> None:
        await check(target.attributes(ctx, new, old, options, name))

    return validate


def creation_word(target: Target, request: Request, ctx: RequestContext, options: WriteOptions) -> Validate:
    """Whether an update may create: the caller must be allowed to, and admission agree."""

    async def validate(new: Tree, _: Tree | None) -> None:
        target.authorize_create(request)
        if target.create_steps.validate:
            await target.create_steps.check(target.attributes(ctx, new, None, options, request.info.name))

    return validate
