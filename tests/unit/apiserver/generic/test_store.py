from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.generic.server_writes import Change
from steersman.apiserver.generic.strategy import Strategy
from steersman.storage.store import Delete, Put, Unavailable


def _tree(**parts: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "default", **parts.pop("metadata", {})}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, **parts}


def _setting(**data: str) -> Any:
    async def transform(old: Any) -> Any:
        return {**old, "metadata": dict(old["metadata"]), "data": {**old.get("data", {}), **data}}

    return transform


async def test_values_are_stored_as_an_api_server_writes_them():
    async with Server() as server:
        objects = server.registry.stored("configmaps").objects
        await objects.create(server.context(), _tree(data={"k": "v"}))
        kv = await server.store.get("/registry/configmaps/default/a")
        assert kv is not None
        assert kv.value.startswith(
            b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default"'
        )
        assert b"resourceVersion" not in kv.value


async def test_watch_can_start_at_the_version_of_the_first_write():
    async with Server() as server:
        objects = server.registry.stored("configmaps").objects
        entry = await objects.create(server.context(), _tree())
        assert objects.cache.ring.floor < entry.revision


async def test_update_is_repeated_on_the_winner_after_a_lost_race():
    async with Server() as server:
        objects = server.registry.stored("configmaps").objects
        ctx = server.context()
        await objects.create(ctx, _tree())
        seen: list[Any] = []

        async def transform(old: Any) -> Any:
            seen.append(old.get("data"))
            if len(seen) == 1:
                await objects.update(ctx, "a", Change(_setting(winner="x")))
            return await _setting(loser="y")(old)

        entry, created = await objects.update(ctx, "a", Change(transform))
        assert (entry.tree()["data"], created) == ({"winner": "x", "loser": "y"}, False)
        assert seen == [None, {"winner": "x"}]


async def test_update_of_a_concurrently_deleted_object_is_404():
    async with Server() as server:
        objects = server.registry.stored("configmaps").objects
        ctx = server.context()
        await objects.create(ctx, _tree())

        async def transform(old: Any) -> Any:
            await server.store.txn([Delete("/registry/configmaps/default/a")])
            return await _setting(k="v")(old)

        with pytest.raises(StatusError) as caught:
            await objects.update(ctx, "a", Change(transform))
        assert caught.value.code == 404


async def test_concurrent_writers_of_one_object_lose_no_update_and_leave_no_queue():
    async with Server() as server:
        objects = server.registry.stored("configmaps").objects
        ctx = server.context()
        await objects.create(ctx, _tree(data={"n": "0"}))

        async def transform(old: Any) -> Any:
            await asyncio.sleep(0)  # noqa: TID251 — lets the others in
            return await _setting(n=str(int(old["data"]["n"]) + 1))(old)

        await asyncio.gather(*(objects.update(ctx, "a", Change(transform)) for _ in range(60)))
        entry = await objects.current("/registry/configmaps/default/a")
        assert entry is not None
        assert entry.tree()["data"] == {"n": "60"}
        assert len(objects._key_locks) == 0


async def test_update_applies_to_what_another_server_has_just_written():
    async with Server(remote=True) as server:
        objects = server.registry.stored("configmaps").objects
        ctx = server.context()
        first = await objects.create(ctx, _tree())
        tree = {**first.tree(), "data": {"other": "1"}}
        await server.store.txn([Put(first.key, objects.layout.encode(tree), expected=first.revision)])
        assert objects.cache.get(first.key).revision == first.revision
        entry, _ = await objects.update(ctx, "a", Change(_setting(k="v")))
        assert entry.revision > first.revision + 1


async def test_update_finds_an_object_that_another_server_has_just_created():
    async with Server(remote=True) as server:
        objects = server.registry.stored("configmaps").objects
        ctx = server.context()
        await objects.cache.ready()
        tree = _tree()
        tree["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
        await server.store.txn([Put("/registry/configmaps/default/a", objects.layout.encode(tree), expected=0)])
        assert objects.cached(ctx, "a") is None
        entry, was_created = await objects.update(ctx, "a", Change(_setting(k="v")))
        assert (entry.tree()["data"], was_created) == ({"k": "v"}, False)


class _Numbered(Strategy):
    """Every object takes the next number, in a key of its own."""

    group_resource = "configmaps"

    def __init__(self, store: Any) -> None:
        self.store = store
        self.meet = 0

    async def extra_ops_on_create(self, ctx: Any, obj: Any) -> Any:
        kv = await self.store.get("/numbers/next")
        number = int(kv.value) if kv else 0
        obj["data"] = {**obj.get("data", {}), "number": str(number)}
        if self.meet:
            self.meet -= 1
            await self.store.txn([Put("/numbers/next", b"%d" % (number + 1))])
        return [Put("/numbers/next", b"%d" % (number + 1), expected=kv.mod_revision if kv else 0)]

    async def extra_ops_on_delete(self, ctx: Any, obj: Any) -> Any:
        return [Put("/numbers/free", obj["data"]["number"].encode())]


async def test_extra_ops_are_written_with_the_object_and_rebuilt_on_conflict():
    async with Server() as server:
        strategy = _Numbered(server.store)
        server.registry._kinds._strategies["configmaps"] = lambda: strategy
        objects = server.registry.stored("configmaps").objects
        strategy.meet = 2
        entry = await objects.create(server.context(), _tree(data={"k": "v"}))
        assert entry.tree()["data"] == {"k": "v", "number": "2"}
        kv = await server.store.get("/numbers/next")
        assert (kv.value, kv.mod_revision) == (b"3", entry.revision - 1)


async def test_validating_admission_sees_allocations_of_each_attempt():
    async with Server() as server:
        strategy = _Numbered(server.store)
        server.registry._kinds._strategies["configmaps"] = lambda: strategy
        strategy.meet = 1
        objects = server.registry.stored("configmaps").objects
        admitted: list[Any] = []

        async def validate(tree: Any, _: Any) -> None:
            admitted.append(tree["data"])

        entry = await objects.create(server.context(), _tree(), validate)
        assert admitted == [{"number": "0"}, {"number": "1"}]
        assert entry.tree()["data"] == {"number": "1"}


async def test_dry_run_returns_allocations_and_stores_nothing():
    async with Server() as server:
        server.registry._kinds._strategies["configmaps"] = lambda: _Numbered(server.store)
        objects = server.registry.stored("configmaps").objects
        entry = await objects.create(server.context(dry_run=True), _tree())
        assert entry.tree()["data"] == {"number": "0"}
        assert await server.store.get("/numbers/next") is None


async def test_removal_releases_allocations():
    async with Server() as server:
        server.registry._kinds._strategies["configmaps"] = lambda: _Numbered(server.store)
        created = await server.make()
        await server.call("DELETE", "/api/v1/namespaces/default/configmaps/a")
        kv = await server.store.get("/numbers/free")
        assert kv.value.decode() == created["data"]["number"]


@pytest.mark.interpreted
async def test_unavailable_store_is_a_503():
    async with Server() as server:
        objects = server.registry.stored("configmaps").objects

        async def txn(ops: Any) -> int:
            raise Unavailable("disk full")

        server.store.txn = txn  # type: ignore[method-assign]
        with pytest.raises(StatusError) as caught:
            await objects.create(server.context(), _tree())
        assert (caught.value.code, caught.value.message) == (503, "disk full")


@pytest.mark.interpreted
async def test_generated_name_is_not_an_existing_one():
    class _Dice:
        def __init__(self) -> None:
            self.suffixes = ["aaaaa", "aaaaa", "bbbbb"]

        def getrandbits(self, bits: int) -> int:
            return 0

        def choices(self, population: Any, *, k: int) -> list[str]:
            return list(self.suffixes.pop(0))

    async with Server() as server:
        objects = server.registry.stored("configmaps").objects
        objects._identities._dice = _Dice()  # type: ignore[misc]
        ctx = server.context()
        names = []
        for _ in range(2):
            entry = await objects.create(ctx, _tree(metadata={"name": "", "generateName": "x-"}))
            names.append(entry.name)
        assert names == ["x-aaaaa", "x-bbbbb"]


async def test_validation_error_prevents_the_write():
    async with Server() as server:
        objects = server.registry.stored("configmaps").objects

        async def refuse(new: Any, old: Any) -> None:
            raise StatusError({"code": 418, "message": new["metadata"]["uid"]})

        with pytest.raises(StatusError) as caught:
            await objects.create(server.context(), _tree(), refuse)
        assert len(caught.value.message) == 36
