"""Scenario of owners and dependents: exactly the objects without an existing owner are deleted."""

from __future__ import annotations

from typing import Any

from lightkube.models.core_v1 import ConfigMap, Secret
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client import tree
from steersman.client.objects import metadata_field, name_of, uid_of
from steersman.runtime.owners import owners_of

KINDS = {"ConfigMap": ConfigMap, "Secret": Secret}
HOLD = "example.com/hold"


class Ownership(Scenario):
    """A few objects of two kinds own each other in all combinations, cycles included."""

    controllers = ("garbage-collector-controller",)

    def edits(self) -> Edits:
        return [self.make, self.make, self.make, self.remove, self.refer, self.hold]

    async def live(self, world: World) -> None:
        """Remove finalizers after a while."""
        for kind, obj in await self.objects(world):
            if metadata_field(obj, "deletionTimestamp") and world.dice.random() < 0.5:
                left = [name for name in metadata_field(obj, "finalizers") or () if name != HOLD]
                patch = {"metadata": {"uid": uid_of(obj), "finalizers": left}}
                if HOLD in (metadata_field(obj, "finalizers") or ()):
                    await world.client.patch(tree("v1", kind), name_of(obj), patch, namespace=NAMESPACE)

    async def objects(self, world: World) -> list[tuple[str, Any]]:
        return [
            (kind, obj)
            for kind, model in KINDS.items()
            for obj in await world.all(model)
            if name_of(obj).startswith("x")
        ]

    async def some_reference(self, world: World) -> dict[str, Any] | None:
        objects = await self.objects(world)
        if not objects:
            return None
        kind, obj = world.dice.choice(objects)
        uid = uid_of(obj) if world.dice.random() < 0.9 else "11111111-2222-4333-8444-555555555555"
        block = world.dice.random() < 0.5
        return {"apiVersion": "v1", "kind": kind, "name": name_of(obj), "uid": uid, "blockOwnerDeletion": block}

    async def make(self, world: World) -> None:
        kind = world.dice.choice(list(KINDS))
        metadata: dict[str, Any] = {"name": f"x{world.dice.randrange(6)}", "namespace": NAMESPACE}
        references = [await self.some_reference(world) for _ in range(world.dice.choice([0, 1, 1, 2]))]
        metadata["ownerReferences"] = list(
            {reference["uid"]: reference for reference in references if reference}.values()
        )
        await world.client.create({"apiVersion": "v1", "kind": kind, "metadata": metadata})

    async def remove(self, world: World) -> None:
        objects = await self.objects(world)
        if objects:
            kind, obj = world.dice.choice(objects)
            policy: Any = world.dice.choice(["Background", "Foreground", "Orphan"])
            await world.client.delete(tree("v1", kind), name_of(obj), namespace=NAMESPACE, propagation_policy=policy)

    async def refer(self, world: World) -> None:
        """Add an owner, or remove all."""
        objects = await self.objects(world)
        reference = await self.some_reference(world)
        if objects and reference:
            kind, obj = world.dice.choice(objects)
            owners = [] if world.dice.random() < 0.3 else [*owners_of(obj)]
            rows = {owner.uid: owner.tree() for owner in owners} | {reference["uid"]: reference}
            patch = {"metadata": {"uid": uid_of(obj), "ownerReferences": list(rows.values())}}
            await world.client.patch(tree("v1", kind), name_of(obj), patch, namespace=NAMESPACE)

    async def hold(self, world: World) -> None:
        objects = await self.objects(world)
        if objects:
            kind, obj = world.dice.choice(objects)
            patch = {"metadata": {"uid": uid_of(obj), "finalizers": [*(metadata_field(obj, "finalizers") or ()), HOLD]}}
            await world.client.patch(tree("v1", kind), name_of(obj), patch, namespace=NAMESPACE)

    async def wrong(self, world: World) -> str:
        objects = await self.objects(world)
        living = {uid_of(obj) for _, obj in objects}
        for kind, obj in objects:
            description = f"{kind} {name_of(obj)}"
            if metadata_field(obj, "deletionTimestamp"):
                return f"{description} is still being deleted: {metadata_field(obj, 'finalizers')}"
            absent_owners = [owner.name for owner in owners_of(obj) if owner.uid not in living]
            if absent_owners:
                return f"{description} names owners that are gone: {absent_owners}"
        return ""
