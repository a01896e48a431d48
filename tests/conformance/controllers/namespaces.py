"""Scenario of namespaces: deleted ones are removed with their contents, the others have their account and quotas."""

from __future__ import annotations

from typing import Any

from lightkube.models.core_v1 import ConfigMap, Namespace, ResourceQuota, ServiceAccount
from tests.conformance.histories import Scenario, World

from steersman.client import tree
from steersman.client.objects import metadata_field, name_of, namespace_of, uid_of

HOLD = "example.com/hold"
NAMES = ("m1", "m2", "m3")
QUOTA = {"count/configmaps": "50", "secrets": "50"}


class Namespaces(Scenario):
    """A few namespaces come and go, with objects that may have finalizers, and a quota."""

    controllers = ("namespace-controller", "serviceaccount-controller", "resourcequota-controller")

    async def edit(self, world: World) -> None:
        edits = [self.make, self.remove, self.fill, self.fill, self.fill, self.take, self.limit, self.lose_account]
        await world.dice.choice(edits)(world, world.dice.choice(NAMES))

    async def live(self, world: World) -> None:
        for config_map in await world.client.list(ConfigMap):
            held = HOLD in (metadata_field(config_map, "finalizers") or ())
            if held and metadata_field(config_map, "deletionTimestamp") and world.dice.random() < 0.5:
                patch = {"metadata": {"uid": uid_of(config_map), "finalizers": None}}
                await world.client.patch(ConfigMap, name_of(config_map), patch, namespace=namespace_of(config_map))

    async def make(self, world: World, name: str) -> None:
        await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    async def remove(self, world: World, name: str) -> None:
        await world.client.delete(Namespace, name)

    async def fill(self, world: World, name: str) -> None:
        metadata: dict[str, Any] = {"generateName": "x", "namespace": name}
        kind = world.dice.choice(["ConfigMap", "ConfigMap", "Secret"])
        if kind == "ConfigMap" and world.dice.random() < 0.3:
            metadata["finalizers"] = [HOLD]
        await world.client.create({"apiVersion": "v1", "kind": kind, "metadata": metadata})

    async def take(self, world: World, name: str) -> None:
        await world.client.delete_collection(tree("v1", "ConfigMap"), namespace=name)

    async def limit(self, world: World, name: str) -> None:
        metadata = {"name": "q", "namespace": name}
        await world.client.create(
            {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": QUOTA}}
        )

    async def lose_account(self, world: World, name: str) -> None:
        await world.client.delete(ServiceAccount, "default", namespace=name)

    async def wrong(self, world: World) -> str:
        existing = set()
        for namespace in await world.client.list(Namespace):
            if metadata_field(namespace, "deletionTimestamp"):
                return f"namespace {name_of(namespace)} is still there: {namespace.status}"
            existing.add(name_of(namespace))
        accounts = {
            namespace_of(account)
            for account in await world.client.list(ServiceAccount)
            if name_of(account) == "default"
        }
        if existing - accounts:
            return f"without an account: {existing - accounts}"
        everything = [
            (kind, obj) for kind in ("ConfigMap", "Secret") for obj in await world.client.list(tree("v1", kind))
        ]
        lost = {namespace_of(obj) for _, obj in everything} - existing
        if lost:
            return f"objects in namespaces that are gone: {lost}"
        for quota in await world.client.list(ResourceQuota):
            inside = [kind for kind, obj in everything if namespace_of(obj) == namespace_of(quota)]
            counts = {"count/configmaps": str(inside.count("ConfigMap")), "secrets": str(inside.count("Secret"))}
            used = quota.status.used if quota.status else None
            if used != counts:
                return f"quota of {namespace_of(quota)} says {used}, there are {counts}"
        return ""
