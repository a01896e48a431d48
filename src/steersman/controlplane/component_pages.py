"""Pages that describe a component: ``/configz``, ``/flagz`` and ``/statusz``.

Upstream: ``k8s.io/component-base`` (``configz``, ``zpages``).
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.durations import format_duration
from steersman.runtime.http import Page
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from steersman.asynckit.clock import Clock
    from steersman.runtime.http import HttpServer

_WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is"
    " for debugging purposes only.\n"
)
_SECONDS: Final = "_seconds"


class ComponentDescription(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of the pages."""

    #: Name of the component, e.g. ``kube-scheduler``.
    component: str
    #: Name of its configuration in ``/configz``.
    configuration_name: str
    configuration: dict[str, Any]
    flags: dict[str, str]


def add_pages(server: HttpServer, description: ComponentDescription, *, clock: Clock) -> None:
    """Serve the pages; ``/statusz`` lists the paths of ``server`` at the time of the request."""
    started = clock.now()

    async def configz(_: Mapping[str, str]) -> Page:
        document = {description.configuration_name: description.configuration}
        return Page(200, msgspec.json.encode(document) + b"\n", "application/json")

    async def flagz(_: Mapping[str, str]) -> Page:
        lines = [f"{name}={value}\n" for name, value in sorted(description.flags.items())]
        return Page(200, f"\n{description.component} flagz\n{_WARNING}\n{''.join(lines)}".encode())

    async def statusz(_: Mapping[str, str]) -> Page:
        text = status_text(description.component, server.paths, started=started, now=clock.now())
        return Page(200, text.encode())

    server.add("/configz", configz)
    server.add("/flagz", flagz)
    server.add("/statusz", statusz)


def status_text(component: str, paths: list[str], *, started: datetime, now: datetime) -> str:
    """Return the text of ``/statusz``."""
    minutes, seconds = divmod(max(0, int((now - started).total_seconds())), 60)
    hours, minutes = divmod(minutes, 60)
    version = KUBERNETES_VERSION.removeprefix("v")
    lines = {
        "Started": f"{started:%a %b %e %H:%M:%S UTC %Y}",
        "Up": f"{hours} hr {minutes:02} min {seconds:02} sec",
        "Python version": f"{platform.python_implementation()} {platform.python_version()}",
        "Binary version": f"{version} (steersman {__version__})",
        "Emulation version": ".".join(version.split(".")[:2]),
        "Paths": " ".join(paths),
    }
    return f"\n{component} statusz\n{_WARNING}\n" + "".join(f"{name}: {value}\n" for name, value in lines.items())


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
