"""POST: a new object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.admission.chain import run
from steersman.apiserver.endpoints.media import body_media_type
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.options import read_write_options
from steersman.apiserver.registry.writing import dedupe_owner_references, fit_namespace, wipe_system_fields

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any

    from steersman.apiserver.endpoints.target import Target
    from steersman.apiserver.http import Request, Response

    Tree = dict[str, Any]


async def create(target: Target, request: Request) -> Response:
    """201 and the object as it was stored. Raises 400, 403, 404 (the namespace), 406, 409, 413, 415, 422."""
    served = target.served
    form = negotiate(request, is_custom=served.is_custom)
    media_type = body_media_type(request, is_custom=served.is_custom)
    raw = await request.body()
    options = read_write_options(request, "CreateOptions")
    ctx = target.write_context(request, options)
    tree, known_spec = target.read_new(raw, media_type, options, ctx)
    metadata = tree["metadata"]
    wipe_system_fields(metadata)
    fit_namespace(metadata, ctx.namespace)
    dedupe_owner_references(metadata, ctx.warn)
    target.own(ctx, tree, None, known_spec)
    tree = target.converted(tree)
    steps = target.create_steps
    attributes = target.attributes(ctx, tree, None, options, metadata.get("name") or "")
    waiting = run(steps.admit, attributes)
    if waiting is not None:
        await waiting
    dedupe_owner_references(tree["metadata"], ctx.warn, after_admission=True)

    def validate(new: Tree, _: Tree | None) -> Awaitable[None] | None:
        attributes.name = new["metadata"]["name"]  # it may have been made up meanwhile
        return run(steps.validate, attributes)

    entry = await target.objects.create(ctx, tree, validate if steps.validate else None)
    return await target.render(request, entry, form=form, code=201)
