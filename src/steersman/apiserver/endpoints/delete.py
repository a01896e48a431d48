"""DELETE of one object."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.options import read_delete_options
from steersman.apiserver.endpoints.representation import render_object, render_tree
from steersman.apiserver.generic import deletion

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.endpoints.request_scope import RequestScope
    from steersman.apiserver.generic.deletion import ValidateDelete
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.options import DeleteOptions
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.request import RequestContext


class _Identity(msgspec.Struct, gc=False):
    uid: str = ""


class _Identified(msgspec.Struct, gc=False):
    metadata: _Identity


_decode_uid = msgspec.json.Decoder(_Identified).decode


async def delete(scope: RequestScope, request: Request) -> Response:
    """Return a Status if the object was removed, otherwise the object. Raises 400, 403, 404, 406, 409, 422."""
    served = scope.served
    form = negotiate(request, is_custom=served.is_custom)
    options = await read_delete_options(request)
    ctx = scope.context(request, options)
    strategy = served.strategy
    if strategy.delete_warning and not options.says_propagation:
        ctx.warn(strategy.delete_warning)
    name = request.info.name
    deleted = await deletion.delete(scope.objects, ctx, name, options, admission_of(scope, ctx, options, name))
    if deleted.is_gone and not strategy.returns_deleted_object:
        return await render_tree(request, success(scope, deleted.entry), form=form)
    # 202 for ``orphanDependents: false`` while the object waits for its dependents, as upstream
    code = 202 if not deleted.is_gone and options.orphan_dependents is False else 200
    return await render_object(served, request, deleted.entry, form=form, code=code)


def admission_of(scope: RequestScope, ctx: RequestContext, options: DeleteOptions, name: str) -> ValidateDelete | None:
    """Return the admission of a delete, which sees the stored object; None without plugins for it."""
    steps = scope.delete_steps
    if not steps.admit and not steps.validate:
        return None

    async def validate(old: Tree) -> None:
        attributes = scope.delete_attributes(ctx, old, options, name)
        await steps.mutate(attributes)
        await steps.check(attributes)

    return validate


def success(scope: RequestScope, entry: Entry) -> Tree:
    """Return the Status of a deletion; ``details.kind`` is the resource, as upstream."""
    resource = scope.served.resource
    details = {
        "name": entry.name,
        "group": resource.group,
        "kind": resource.name,
        "uid": _decode_uid(entry.raw).metadata.uid,
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
