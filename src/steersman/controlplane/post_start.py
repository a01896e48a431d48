"""Post-start hooks: what a server does for itself once it can answer; ready only when all of them are done."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.endpoints.health import Check, Unhealthy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apiserver.server.loopback import Loopback

_log = logging.getLogger(__name__)

SYSTEM_NAMESPACES: Final = ("kube-system", "kube-public", "kube-node-lease", "default")


class PostStartHooks:
    """Hooks by name, run one after the other; each has a health check ``poststarthook/<name>``."""

    def __init__(self) -> None:
        self._hooks: dict[str, Callable[[], Awaitable[None]]] = {}
        self._done: set[str] = set()

    def add(self, name: str, hook: Callable[[], Awaitable[None]]) -> Check:
        """Run ``hook`` after the start; returns its check."""
        self._hooks[name] = hook

        async def probe() -> None:
            if name not in self._done:
                raise Unhealthy("not finished")

        return Check(f"poststarthook/{name}", probe)

    async def run(self) -> None:
        """Run them all. A hook that raises stops the server's start."""
        for name, hook in self._hooks.items():
            await hook()
            self._done.add(name)


async def make_system_namespaces(client: Loopback) -> None:
    """The namespaces that everybody expects; made again at a start when somebody removed one."""
    for name in SYSTEM_NAMESPACES:
        answer = await client.request("GET", f"/api/v1/namespaces/{name}")
        if answer.code == 200:
            continue
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        answer = await client.request("POST", "/api/v1/namespaces", body=body)
        if answer.code not in (201, 409):
            raise RuntimeError(f"cannot make the namespace {name}: {answer.body.decode(errors='replace')}")
