"""Scenario of storage versions: entries of API servers exist exactly as long as their server's lease.

What must be is what KEP-2339 (storage version API) says of garbage collection. The kind is served as a custom one here.
"""

from __future__ import annotations

from typing import Any

from lightkube.models.coordination_v1 import Lease
from tests.conformance.histories import Edits, Scenario, World, ensure

from steersman.client import custom
from steersman.client.objects import name_of

API = "internal.apiserver.k8s.io/v1alpha1"
VERSIONS = custom(API, "StorageVersion", plural="storageversions", namespaced=False)
RESOURCES = ("apps.deployments", "batch.jobs", "core.pods")
SERVERS = ("server1", "server2", "server3")
LABEL = {"apiserver.kubernetes.io/identity": "kube-apiserver"}


class Storageversions(Scenario):
    """API servers start and stop, and publish their storage versions."""

    controllers = ("storageversion-garbage-collector-controller",)

    async def prepare(self, world: World) -> None:
        await world.define(VERSIONS)

    def __init__(self) -> None:
        #: Versions by resource and server, published since the server's Lease was created.
        self._reported: dict[tuple[str, str], str] = {}

    def edits(self) -> Edits:
        return [
            self.come,
            self.come,
            self.come,
            self.go,
            self.go,
            self.publish,
            self.publish,
            self.publish,
            self.tell_late,
            self.remove,
        ]

    async def come(self, world: World) -> None:
        """Start a server: first its lease, then its storage versions."""
        server = world.dice.choice(SERVERS)
        metadata = {"name": server, "namespace": "kube-system", "labels": LABEL}
        await world.client.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata})
        for resource in RESOURCES:
            await ensure(self._publish(world, resource, server))

    async def go(self, world: World) -> None:
        server = world.dice.choice(SERVERS)
        await world.client.delete(Lease, server, namespace="kube-system")
        self._reported = {key: version for key, version in self._reported.items() if key[1] != server}

    async def publish(self, world: World) -> None:
        """Publish another version of a running server."""
        leases = await world.client.list(Lease, namespace="kube-system", label_selector=LABEL)
        if leases:
            await self._publish(world, world.dice.choice(RESOURCES), name_of(world.dice.choice(leases)))

    async def tell_late(self, world: World) -> None:
        """Publish for a server whose lease may have expired."""
        await self._publish(world, world.dice.choice(RESOURCES), world.dice.choice(SERVERS))

    async def remove(self, world: World) -> None:
        resource = world.dice.choice(RESOURCES)
        await world.client.delete(VERSIONS, resource)
        self._reported = {key: version for key, version in self._reported.items() if key[0] != resource}

    async def _publish(self, world: World, resource: str, server: str) -> None:
        """Update the server's entry and the common version, as API servers do."""
        versions = await world.client.list(VERSIONS, field_selector=f"metadata.name={resource}")
        body = {"apiVersion": API, "kind": "StorageVersion", "metadata": {"name": resource}, "spec": {}}
        obj = versions[0] if versions else await world.client.create(body)
        version = world.dice.choice(["v1", "v1", "v2"])
        others = [entry for entry in _entries(obj) if entry["apiServerID"] != server]
        entries = [*others, {"apiServerID": server, "encodingVersion": version, "decodableVersions": ["v1", "v2"]}]
        status: dict[str, Any] = {"storageVersions": entries}
        if len(common := {entry["encodingVersion"] for entry in entries}) == 1:
            status["commonEncodingVersion"] = common.pop()
        written = await world.client.update_status({**obj, "status": status})
        if written["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"]:
            return  # an equal old entry exists: its removal in progress cannot see the new publication
        leases = await world.client.list(Lease, namespace="kube-system", label_selector=LABEL)
        if server in map(name_of, leases):
            self._reported[resource, server] = version

    async def wrong(self, world: World) -> str:
        leases = {
            name_of(lease) for lease in await world.client.list(Lease, namespace="kube-system", label_selector=LABEL)
        }
        stored: dict[tuple[str, str], str] = {}
        for obj in await world.client.list(VERSIONS):
            resource, entries = obj["metadata"]["name"], _entries(obj)
            servers = [entry["apiServerID"] for entry in entries]
            if not leases.issuperset(servers) or not servers or len(servers) != len(set(servers)):
                return f"{resource} is stored by {servers}, there are {sorted(leases)}"
            versions = {entry["encodingVersion"] for entry in entries}
            common = obj["status"].get("commonEncodingVersion")
            if common != (versions.pop() if len(versions) == 1 else None):
                return f"{resource} is said to be stored in {common}: {entries}"
            stored |= {(resource, entry["apiServerID"]): entry["encodingVersion"] for entry in entries}
        return "" if self._reported.items() <= stored.items() else f"stored are {stored}, told was {self._reported}"


def _entries(obj: dict[str, Any]) -> list[dict[str, Any]]:
    return (obj.get("status") or {}).get("storageVersions") or []
