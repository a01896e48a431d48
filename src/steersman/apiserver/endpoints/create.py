"""POST: a new object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.admission.chain import run
from steersman.apiserver.endpoints.media import YAML, body_media_type
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.options import read_write_options
from steersman.apiserver.generic.writing import dedupe_owner_references, fit_namespace, wipe_system_fields
from steersman.apiserver.workers import LARGE_YAML_BYTES, in_worker, is_large

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any

    from steersman.apiserver.endpoints.target import Target
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.request import RequestContext

    Tree = dict[str, Any]


async def create(target: Target, request: Request) -> Response:
    """201 and the object as it was stored. Raises 400, 403, 404 (the namespace), 406, 409, 413, 415, 422."""
    served = target.served
    form = negotiate(request, is_custom=served.is_custom)
    media_type = body_media_type(request, is_custom=served.is_custom)
    raw = await request.body()
    options = read_write_options(request, "CreateOptions")
    ctx = target.write_context(request, options)
    if len(raw) > LARGE_YAML_BYTES and is_large(len(raw), is_yaml=media_type == YAML):
        ctx.is_large = True
        tree = await in_worker(_read, target, ctx, raw, media_type, options)
    else:
        tree = _read(target, ctx, raw, media_type, options)
    steps = target.create_steps
    attributes = target.attributes(ctx, tree, None, options, tree["metadata"].get("name") or "")
    waiting = run(steps.admit, attributes)
    if waiting is not None:
        await waiting
    dedupe_owner_references(tree["metadata"], ctx.warn, after_admission=True)

    def validate(new: Tree, _: Tree | None) -> Awaitable[None] | None:
        attributes.name = new["metadata"]["name"]  # it may have been made up meanwhile
        return run(steps.validate, attributes)

    entry = await target.objects.create(ctx, tree, validate if steps.validate else None)
    return await target.render(request, entry, form=form, code=201)


def _read(target: Target, ctx: RequestContext, raw: bytes, media_type: str, options: WriteOptions) -> Tree:
    """Return the object of a body as it is stored but for admission: defaulted, owned, converted."""
    tree, known_spec = target.read_new(raw, media_type, options, ctx)
    metadata = tree["metadata"]
    wipe_system_fields(metadata)
    fit_namespace(metadata, ctx.namespace)
    dedupe_owner_references(metadata, ctx.warn)
    target.own(ctx, tree, None, known_spec)
    return target.converted(tree)
