"""GET of a collection: the objects in it, or a page of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.endpoints.list_options import list_options
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.representation import render_list
from steersman.apiserver.generic.listing import list_page

if TYPE_CHECKING:
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request, Response


async def list_(served: ServedResource, request: Request) -> Response:
    """Return the list. Raises 400, 406, 410, 422, 500, 504."""
    form = negotiate(request, is_custom=served.is_custom)
    options = await list_options(served, request)
    page = await list_page(
        served.cache, options, group_resource=served.resource.group_resource, converter=served.converter
    )
    return await render_list(served, request, page.entries, form=form, metadata=page.metadata)
