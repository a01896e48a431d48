from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.writing import CONFIG_MAPS, Server

from steersman.apimachinery.errors import StatusError, forbidden
from steersman.apiserver.generic.server_writes import Change


async def labelled(old: Any) -> Any:
    return {**old, "metadata": {**old["metadata"], "labels": {"l": "x"}}}


def refuse(new: Any, old: Any) -> None:
    raise forbidden("configmaps", new["metadata"]["name"], f"was {old and old['metadata'].get('labels')}")


async def test_server_create_is_prepared_and_validated() -> None:
    async with Server() as server:
        objects = server.registry.stored("configmaps").objects
        tree = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"generateName": "x-", "namespace": "default"}}
        entry = await objects.create(server.context(), tree)
        metadata = entry.tree()["metadata"]
        assert metadata["name"].startswith("x-")
        assert metadata["uid"]
        with pytest.raises(StatusError) as caught:
            await objects.create(server.context(), {**tree, "metadata": {"name": "_", "namespace": "default"}})
        assert caught.value.code == 422


async def test_server_update_stores_the_result_of_its_function() -> None:
    async with Server() as server:
        await server.make(data={"k": "v"})
        objects = server.registry.stored("configmaps").objects
        entry, created = await objects.update(server.context(), "a", Change(labelled))
        assert (entry.tree()["metadata"]["labels"], created) == ({"l": "x"}, False)


async def test_server_update_runs_its_validation_on_both_objects() -> None:
    async with Server() as server:
        await server.make(data={"k": "v"})
        objects = server.registry.stored("configmaps").objects
        with pytest.raises(StatusError, match="was None"):
            await objects.update(server.context(), "a", Change(labelled, validate=refuse))
        assert "labels" not in (await server.call("GET", f"{CONFIG_MAPS}/a")).body["metadata"]


async def test_server_update_of_another_uid_is_a_conflict() -> None:
    async with Server() as server:
        await server.make(data={"k": "v"})
        objects = server.registry.stored("configmaps").objects
        with pytest.raises(StatusError, match="UID in precondition: other"):
            await objects.update(server.context(), "a", Change(labelled, uid="other"))
