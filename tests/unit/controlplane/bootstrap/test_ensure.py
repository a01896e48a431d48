"""Objects that there should be."""

import pytest

from steersman.controlplane.bootstrap.ensure import DesiredObject, ensure
from steersman.controlplane.bootstrap.errors import BootstrapError

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(**data):
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "m"}, "data": data}


async def data(server):
    return (await server.request("GET", f"{MAPS}/m")).json().get("data")


async def test_missing_objects_are_created_and_existing_ones_kept(server):
    await ensure(server.core.client, [DesiredObject(MAPS, config_map(a="1"))])
    await ensure(server.core.client, [DesiredObject(MAPS, config_map(a="2"))])
    assert await data(server) == {"a": "1"}


async def test_ensure_repairs_an_existing_object(server):
    await ensure(server.core.client, [DesiredObject(MAPS, config_map(a="1"))])
    repair = lambda obj, expected: {**obj, "data": expected["data"]}  # noqa: E731 — the shortest way to say it
    await ensure(server.core.client, [DesiredObject(f"{MAPS}?fieldManager=me", config_map(a="2"), repair)])
    assert await data(server) == {"a": "2"}
    owners = (await server.request("GET", f"{MAPS}/m")).json()["metadata"]["managedFields"]
    assert "me" in {owner["manager"] for owner in owners}


async def test_ensure_replaces_by_an_object_without_resource_version(server):
    await ensure(server.core.client, [DesiredObject(MAPS, config_map(a="1"))])
    uid = (await server.request("GET", f"{MAPS}/m")).json()["metadata"]["uid"]
    await ensure(server.core.client, [DesiredObject(MAPS, config_map(a="2"), lambda obj, expected: expected)])
    assert (await server.request("GET", f"{MAPS}/m")).json()["metadata"]["uid"] != uid


async def test_ensure_raises_when_a_write_is_rejected(server):
    bad = {**config_map(), "metadata": {"name": "No Name"}}
    with pytest.raises(BootstrapError, match="No Name"):
        await ensure(server.core.client, [DesiredObject(MAPS, bad)])
    with pytest.raises(BootstrapError, match="cannot list"):
        await ensure(server.core.client, [DesiredObject("/api/v1/nothing", bad)])
