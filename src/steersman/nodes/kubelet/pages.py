"""``/statusz`` and ``/flagz`` of the kubelet, one for all simulated nodes of the process.

Upstream: ``pkg/kubelet/server`` (``statusz``, ``flagz``). Flags are those of ``steersman nodes``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.zpages import flagz, statusz
from steersman.runtime.build import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.zpages import PageContent
    from steersman.asynckit.clock import Clock
    from steersman.nodes.options import NodesOptions

_COMPONENT: Final = "kubelet"
_PATHS: Final = (
    "/attach", "/configz", "/containerLogs", "/exec", "/flagz", "/healthz", "/metrics", "/metrics/cadvisor", "/metrics/probes",
    "/metrics/resource", "/pods", "/portForward", "/runningpods", "/stats/summary", "/statusz",
)  # fmt: skip


def component_pages(options: NodesOptions, *, clock: Clock) -> Callable[[str], PageContent | None]:
    """Return a function from a path to the page's current content; None if absent."""
    started = clock.now()
    flags = {name.replace("_", "-"): _text(value) for name, value in msgspec.structs.asdict(options).items()}

    def page(path: str) -> PageContent | None:
        if path == "/statusz":
            return statusz(_COMPONENT, _PATHS, build(), started=started, now=clock.now())
        return flagz(_COMPONENT, flags) if path == "/flagz" else None

    return page


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
