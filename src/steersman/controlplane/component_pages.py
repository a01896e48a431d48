"""Pages that describe a component: ``/configz``, ``/flagz`` and ``/statusz``.

Upstream: ``k8s.io/component-base`` (``configz``, ``zpages``).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.durations import format_duration
from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.zpages import FLAGZ_GATE, JSON, STATUSZ_GATE, flagz, negotiate_page, statusz
from steersman.runtime import debug_flags
from steersman.runtime.build import build
from steersman.runtime.http import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.apimachinery.zpages import PageContent
    from steersman.asynckit.clock import Clock
    from steersman.runtime.http import HttpServer, Request

_SECONDS: Final = "_seconds"


class ComponentDescription(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of the pages."""

    #: Name of the component, e.g. ``kube-scheduler``.
    component: str
    #: Name of its configuration in ``/configz``.
    configuration_name: str
    configuration: dict[str, Any]
    flags: dict[str, str]
    #: Feature gates that differ from their defaults.
    gates: dict[str, bool] = {}


def add_pages(server: HttpServer, description: ComponentDescription, *, clock: Clock) -> None:
    """Serve the pages; ``/statusz`` lists the paths of ``server`` at the time of the request."""
    started = clock.now()

    async def configz(_: Mapping[str, str]) -> Page:
        document = {description.configuration_name: description.configuration}
        return Page(200, msgspec.json.encode(document) + b"\n", "application/json")

    async def flags(request: Request) -> Page:
        return _page(request, flagz(description.component, description.flags))

    async def status(request: Request) -> Page:
        now = clock.now()
        return _page(request, statusz(description.component, server.paths, build(), started=started, now=now))

    server.add("/configz", configz)
    if description.gates.get(FLAGZ_GATE, True):
        server.add_for_request("/flagz", flags)
    if description.gates.get(STATUSZ_GATE, True):
        server.add_for_request("/statusz", status)


def add_debug_flags(server: HttpServer, *, on_verbosity: Callable[[], None] = lambda: None) -> None:
    """Serve ``/debug/flags``; ``on_verbosity`` is called after the verbosity is set."""

    async def index(_: Request) -> Page:
        return debug_flags.index_page()

    async def verbosity(request: Request) -> Page:
        page = debug_flags.verbosity_page(request.method, request.body)
        on_verbosity()
        return page

    server.add_for_request(debug_flags.PREFIX, index)
    server.add_prefix(f"{debug_flags.PREFIX}/", index)
    server.add_for_request(debug_flags.VERBOSITY, verbosity, has_any_method=True)


def _page(request: Request, content: PageContent) -> Page:
    try:
        form = negotiate_page(request.headers.get("accept", ""), content.kind)
    except StatusError as error:
        return Page(error.code, msgspec.json.encode(error.status) + b"\n", JSON)
    return Page(200, content.encode(form), form.content_type)


def configuration_of(*options: msgspec.Struct) -> dict[str, Any]:
    """Return the values of options by their names in camel case; seconds as Go durations, paths as texts."""
    return {
        _camel(name.removesuffix(_SECONDS)): _plain(name, value)
        for option in options
        for name, value in msgspec.structs.asdict(option).items()
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if name.endswith(_SECONDS) and isinstance(value, int | float):
        return format_duration(value)
    return value
