"""GET of one object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.errors import not_found, plain_error
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.representation import render_object
from steersman.apiserver.generic.listing import parse_version

if TYPE_CHECKING:
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request, Response


async def get(served: ServedResource, request: Request) -> Response:
    """Return the object, now or at least as new as ``resourceVersion``. Raises 400, 404, 406, 500, 504."""
    form = negotiate(request, is_custom=served.is_custom)
    version = request.param("resourceVersion")
    cache, info = served.cache, request.info
    key = cache.requested_key(info.namespace, info.name)
    if not version:
        if cache.remote or not cache.is_ready:
            await cache.wait_fresh()
    else:
        try:
            revision = parse_version(version)
        except ValueError as error:
            raise plain_error(str(error)) from None
        await cache.wait_until(revision)
    entry = cache.get(key)
    if entry is None:
        raise not_found(served.resource.group_resource, info.name)
    if served.converter is not None:
        [entry] = await served.converter.entries([entry])
    return await render_object(served, request, entry, form=form)
