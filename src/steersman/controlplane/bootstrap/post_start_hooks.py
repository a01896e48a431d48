"""Post-start hooks of an API server: work that it does as a client of itself, before it is ready.

A hook starts when the hooks that it depends on are done; hooks that do not depend on each other run at the same time. Each has a
health check ``poststarthook/<name>``, which fails until the hook is done.

Upstream: ``k8s.io/apiserver/pkg/server/hooks.go``.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Final

from steersman.apiserver.health.checks import Check, Unhealthy
from steersman.controlplane.bootstrap.errors import BootstrapError
from steersman.controlplane.bootstrap.namespaces import plan_namespaces

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from steersman.apiserver.server.loopback import Loopback

_log: Final = logging.getLogger(__name__)

_NAMESPACES: Final = "/api/v1/namespaces"


class _Hook:
    """Hook with its dependencies."""

    def __init__(self, work: Callable[[], Awaitable[None]] | None, dependencies: list[_Hook]) -> None:
        self.work: Final = work
        self.dependencies: Final = dependencies
        self.done: Final = asyncio.Event()

    async def run(self) -> None:
        for dependency in self.dependencies:
            await dependency.done.wait()
        if self.work is not None:
            await self.work()
        self.done.set()

    async def probe(self) -> None:
        if not self.done.is_set():
            raise Unhealthy("not finished")


class PostStartHooks:
    """Hooks by name, with their dependencies and health checks."""

    def __init__(self) -> None:
        self._hooks: Final[dict[str, _Hook]] = {}

    @property
    def checks(self) -> list[Check]:
        """Health checks, in the order in which hooks were added."""
        return [Check(f"poststarthook/{name}", hook.probe) for name, hook in self._hooks.items()]

    def probe_of(self, name: str) -> Callable[[], Awaitable[None]]:
        """Return the probe of a hook. Raises ``KeyError`` for an unknown one."""
        return self._hooks[name].probe

    def add(self, name: str, work: Callable[[], Awaitable[None]] | None = None, *, after: Iterable[str] = ()) -> None:
        """Add a hook that runs once the hooks named by ``after`` are done.

        Without ``work`` its work is part of the hooks in ``after``. They must have been added before, so that
        dependencies have no cycle. Raises ``KeyError`` for an unknown hook.
        """
        self._hooks[name] = _Hook(work, [self._hooks[other] for other in after])

    async def run(self) -> None:
        """Run all hooks. The first hook that raises cancels the others, and its exception is raised."""
        try:
            async with asyncio.TaskGroup() as group:
                for name, hook in self._hooks.items():
                    group.create_task(hook.run(), name=f"post-start hook {name}")
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None


async def create_system_namespaces(client: Loopback, names: Iterable[str]) -> None:
    """Create missing system namespaces. Raises ``BootstrapError`` when namespaces cannot be listed.

    A namespace that is refused is logged, and does not stop the start: the namespace controller creates it later.
    """
    answer = await client.request("GET", f"{_NAMESPACES}?resourceVersion=0")
    if answer.code != 200:
        raise BootstrapError(f"cannot list {_NAMESPACES}: {answer.body.decode(errors='replace')}")
    existing = [item["metadata"]["name"] for item in answer.json().get("items") or ()]

    async def create(name: str, body: bytes) -> None:
        created = await client.request("POST", _NAMESPACES, body=body)
        if created.code not in (201, 409):
            message = created.json().get("message")
            _log.error("unable to create required kubernetes system namespace %s: %s", name, message)

    missing = plan_namespaces(names, existing)
    await asyncio.gather(*(create(tree["metadata"]["name"], json.dumps(tree).encode()) for tree in missing))


async def create_default_service_accounts(client: Loopback, namespaces: Iterable[str]) -> None:
    """Create the ServiceAccount ``default`` of each namespace that has none.

    A ServiceAccount that is refused (the namespace is terminating) is logged: the serviceaccount controller creates it later.
    """
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    body = json.dumps(account).encode()

    async def create(namespace: str) -> None:
        answer = await client.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", body=body)
        if answer.code not in (201, 409):
            _log.warning("cannot create the service account default in %s: %s", namespace, answer.body.decode())

    await asyncio.gather(*map(create, dict.fromkeys(namespaces)))
