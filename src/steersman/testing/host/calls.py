"""Calls from a test to its cluster."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from steersman.client import tree
from steersman.testing.host.snapshots import ClusterSnapshot

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.client import Client
    from steersman.testing.host.cluster import HostedCluster

_NAMESPACES: Final = tree("v1", "Namespace")
_ACCOUNTS: Final = tree("v1", "ServiceAccount")
_DEFINITIONS: Final = tree("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_EVENTS: Final = tree("v1", "Event")
_FIELD_MANAGER: Final = "steersman-testing"
_AGENT: Final = "steersman-testing"


class Calls:
    """Methods of one cluster by name."""

    def __init__(self, cluster: HostedCluster) -> None:
        self._cluster: Final = cluster

    def methods(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Return the methods for a ``CallServer``, by name."""
        return {
            "describe": self.describe,
            "snapshot": self.snapshot,
            "rewind": self.rewind,
            "reset": self._cluster.reset,
            "crash": self._cluster.crash,
            "restart": self._cluster.restart,
            "apply": self.apply,
            "create_namespace": self.create_namespace,
            "delete_namespace": self.delete_namespace,
            "events": self.events,
            "cpu_seconds": self.cpu_seconds,
            "clock.now": self.now,
            "clock.advance": self.advance,
            "clock.advance_to": self.advance_to,
            "clock.run": self.run_clock,
            "clock.pause": self.pause_clock,
        }

    @property
    def _client(self) -> Client:
        return self._cluster.embedded.client(_AGENT)

    async def describe(self) -> dict[str, Any]:
        """Return URL, files and credentials for clients."""
        return self._cluster.describe()

    async def snapshot(self) -> bytes:
        """Return the current state."""
        return self._cluster.snapshot().encode()

    async def rewind(self, data: bytes) -> None:
        """Restore a snapshot."""
        await self._cluster.rewind(ClusterSnapshot.decode(data))

    async def apply(self, documents: list[Tree], namespace: str = "") -> list[Tree]:
        """Apply objects server-side in order, with ``force``; wait until a definition is established before the next object."""
        client, applied = self._client, []
        for document in documents:
            applied.append(
                await client.apply(document, field_manager=_FIELD_MANAGER, force=True, namespace=namespace or None)
            )
            if document["kind"] == "CustomResourceDefinition":
                await self._wait_established(client, document["metadata"]["name"])
        return applied

    async def _wait_established(self, client: Client, name: str) -> None:
        async with client.watch(_DEFINITIONS, bookmarks=False, field_selector=f"metadata.name={name}") as events:
            async for event in events:
                conditions = (event.object.get("status") or {}).get("conditions") or ()
                if any((condition["type"], condition["status"]) == ("Established", "True") for condition in conditions):
                    return

    async def create_namespace(self, name: str) -> None:
        """Create a namespace; with controllers wait for its ServiceAccount ``default``."""
        client = self._client
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        if self._cluster.has_accounts:
            selector = "metadata.name=default"
            async with client.watch(_ACCOUNTS, bookmarks=False, namespace=name, field_selector=selector) as events:
                async for _ in events:
                    return

    async def delete_namespace(self, name: str) -> None:
        """Delete a namespace; without a namespace controller its content remains."""
        await self._client.delete(_NAMESPACES, name)

    async def events(self, limit: int = 20) -> list[Tree]:
        """Return the newest events of all namespaces."""
        events = list(await self._client.list_all(_EVENTS))
        events.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
        return events[-limit:]

    async def cpu_seconds(self) -> float:
        """Return the CPU time of this process since its fork."""
        return time.process_time()

    async def now(self) -> str:
        """Return the time of the cluster."""
        return self._cluster.embedded.clock.now().isoformat()

    async def advance(self, seconds: float) -> None:
        """Advance virtual time by a duration."""
        await self._cluster.embedded.clock.advance(seconds)

    async def advance_to(self, time: str) -> None:
        """Advance virtual time to a time."""
        await self._cluster.embedded.clock.advance_to(datetime.fromisoformat(time))

    async def run_clock(self, speed: float) -> None:
        """Let virtual time pass by itself."""
        self._cluster.embedded.clock.run(speed)

    async def pause_clock(self) -> None:
        """Stop virtual time."""
        self._cluster.embedded.clock.pause()
