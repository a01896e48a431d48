"""Post-start hooks: what a server does for itself once it can answer; ready only when all of them are done."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Final

from steersman.apiserver.health.checks import Check, Unhealthy
from steersman.controlplane.bootstrap.ensuring import Wanted, ensure
from steersman.controlplane.bootstrap.namespaces import plan_namespaces

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from steersman.apiserver.server.loopback import Loopback

_log: Final = logging.getLogger(__name__)


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


async def make_system_namespaces(client: Loopback, names: Iterable[str]) -> None:
    """The namespaces that everybody expects; made again at a start when somebody removed one. Raises RuntimeError."""
    await ensure(client, [Wanted("/api/v1/namespaces", tree) for tree in plan_namespaces(names, ())])


async def make_default_service_accounts(client: Loopback, namespaces: Iterable[str]) -> None:
    """Create the ServiceAccount ``default`` of each namespace that has none.

    The serviceaccount controller repeats it, so a refusal (the namespace is terminating) is no reason not to start.
    """
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    body = json.dumps(account).encode()

    async def create(namespace: str) -> None:
        answer = await client.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", body=body)
        if answer.code not in (201, 409):
            _log.warning("cannot create the service account default in %s: %s", namespace, answer.body.decode())

    await asyncio.gather(*map(create, dict.fromkeys(namespaces)))
