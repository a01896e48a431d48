"""``componentstatuses``: health of the components of a control plane, probed on each request. Deprecated, never stored."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from steersman.apimachinery.codec import encode
from steersman.apimachinery.errors import method_not_supported, not_found
from steersman.apiserver.endpoints.list_options import list_options
from steersman.apiserver.endpoints.negotiation import negotiate
from steersman.apiserver.endpoints.representation import render_list, render_object
from steersman.apiserver.generic.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.health.component_probes import Components
    from steersman.apiserver.http import Request, Response


def component_endpoints(
    served: ServedResource, components: Components
) -> Mapping[str, Callable[[Request], Awaitable[Response]]]:
    """Return the endpoints get and list, and one that rejects watches with upstream's message."""
    return {
        "get": partial(get_component, served, components),
        "list": partial(list_components, served, components),
        "watch": partial(refuse_watch, served),
    }


async def list_components(served: ServedResource, components: Components, request: Request) -> Response:
    """Return all components that the selectors match. Raises 400, 406, 422."""
    form = negotiate(request)
    options = await list_options(served, request)
    entries = await asyncio.gather(*(_entry(served, components, name) for name in components.names))
    return await render_list(served, request, options.selection.of(entries), form=form, metadata={})


async def refuse_watch(served: ServedResource, request: Request) -> Response:  # noqa: ARG001 — a handler's shape
    """Raise 405."""
    raise method_not_supported(served.resource.group_resource, "watch")


async def get_component(served: ServedResource, components: Components, request: Request) -> Response:
    """Return one component. Raises 404, 406."""
    form = negotiate(request)
    name = request.info.name
    if name not in components.names:
        raise not_found("componentstatus", name)
    return await render_object(served, request, await _entry(served, components, name), form=form)


async def _entry(served: ServedResource, components: Components, name: str) -> Entry:
    health = await components.probe(name)
    condition: Tree = {"type": "Healthy", "status": "True" if health.is_healthy else "False"}
    if health.message:
        condition["message"] = health.message
    if health.error:
        condition["error"] = health.error
    raw = encode({"metadata": {"name": name}, "conditions": [condition]})
    return Entry(served.cache.key("", name), raw, 0)
