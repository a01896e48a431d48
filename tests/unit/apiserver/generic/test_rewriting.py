from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apimachinery.errors import StatusError, bad_request
from steersman.apiserver.generic.rewriting import rewrite
from steersman.storage.store import Put

KEY = "/registry/configmaps/default/a"


def put(value: str):
    def change(tree):
        tree["data"] = {"k": value}

    return change


async def test_rewrite_stores_the_result_unchanged():
    async with Server() as server:
        created = await server.make(data={"k": "1"})
        objects = server.registry.stored("configmaps").objects
        entry = await rewrite(objects, server.context(), "a", put("2"))
        assert entry.tree()["metadata"] == {**created["metadata"], "resourceVersion": str(entry.revision)}
        assert objects.cache.get(KEY).tree()["data"] == {"k": "2"}


async def test_rewrite_dry_run_stores_nothing():
    async with Server() as server:
        await server.make(data={"k": "1"})
        objects = server.registry.stored("configmaps").objects
        entry = await rewrite(objects, server.context(dry_run=True), "a", put("2"))
        assert entry.tree()["data"] == {"k": "2"}
        assert objects.cache.get(KEY).tree()["data"] == {"k": "1"}


@pytest.mark.interpreted
async def test_rewrite_is_repeated_after_a_lost_race():
    async with Server() as server:
        await server.make(data={"k": ""})
        objects = server.registry.stored("configmaps").objects
        calls = []

        def change(tree):
            calls.append(tree["data"]["k"])
            tree["data"]["k"] += "x"

        await objects.cache.ready()
        stale = objects.cache.get(KEY)
        await rewrite(objects, server.context(), "a", change)

        async def current(_key):
            return stale

        objects_with_old_view = type("Old", (), {"__getattr__": lambda _, name: getattr(objects, name)})()
        objects_with_old_view.current = current
        await rewrite(objects_with_old_view, server.context(), "a", change)
        assert calls == ["", "", "x"]
        assert objects.cache.get(KEY).tree()["data"] == {"k": "xx"}


async def test_rewrite_of_a_missing_object_is_404():
    async with Server() as server:
        objects = server.registry.stored("configmaps").objects
        with pytest.raises(StatusError) as refused:
            await rewrite(objects, server.context(), "none", put("2"))
        assert refused.value.code == 404


async def test_rewrite_changes_what_another_server_has_just_written():
    async with Server(remote=True) as server:
        objects = server.registry.stored("configmaps").objects
        await server.make(data={"k": "1"})
        first = objects.cached(server.context(), "a")
        tree = {**first.tree(), "immutable": False}
        await server.store.txn([Put(first.key, objects.layout.encode(tree), expected=first.revision)])
        entry = await rewrite(objects, server.context(), "a", put("2"))
        assert (entry.tree()["data"], entry.tree()["immutable"]) == ({"k": "2"}, False)


async def test_rewrite_raises_the_error_of_its_function():
    async with Server() as server:
        await server.make(data={"k": "1"})
        objects = server.registry.stored("configmaps").objects

        def change(_tree):
            raise bad_request("no")

        with pytest.raises(StatusError, match="no"):
            await rewrite(objects, server.context(), "a", change)
