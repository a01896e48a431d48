"""DELETE of a collection: all objects that the selectors match, or a page of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.endpoints.delete import admission_of
from steersman.apiserver.endpoints.list_options import list_options
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.options import read_delete_options
from steersman.apiserver.endpoints.representation import render_list
from steersman.apiserver.generic import deletion
from steersman.apiserver.generic.listing import list_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.endpoints.request_scope import RequestScope
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.options import DeleteOptions
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.request import RequestContext


async def delete_collection(scope: RequestScope, request: Request) -> Response:
    """Answer with the list of deleted objects. Raises 400, 406, 422, and the error of one of the deletions."""
    served = scope.served
    form = negotiate(request, is_custom=served.is_custom)
    selection = await list_options(served, request)
    options = await read_delete_options(request)
    ctx = scope.context(request, options)
    page = await list_page(
        served.cache, selection, group_resource=served.resource.group_resource, converter=served.converter
    )
    await deletion.delete_each(page.entries, lambda entry, admitted: _delete_one(scope, ctx, entry, options, admitted))
    return await render_list(served, request, page.entries, form=form, metadata=page.metadata)


async def _delete_one(
    scope: RequestScope, ctx: RequestContext, entry: Entry, options: DeleteOptions, admitted: Callable[[], None]
) -> None:
    cache = scope.served.cache
    if cache.namespaced and not ctx.namespace:
        ctx = ctx.changed(namespace=cache.namespace_of(entry))
    admission = admission_of(scope, ctx, options, "")

    async def validate(stored: Tree) -> None:
        if admission is not None:
            await admission(stored)
        admitted()

    await deletion.delete(scope.objects, ctx, entry.name, options, validate)
