from __future__ import annotations

import asyncio

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit.apiserver.writing import CONFIG_MAPS, Server

from steersman.apiserver.generic.served import ServedResource
from steersman.apiserver.generic.strategy import Strategy
from steersman.schema.resources import Resource

WIDGETS = Resource(
    "example.com", "v1", "widgets", "Widget", "widget", True, (), key_prefix="/registry/example.com/widgets"
)


async def test_resources_are_created_on_first_use():
    async with Server() as server:
        served = server.registry.get("apps", "v1", "deployments")
        assert served.resource.kind == "Deployment"
        assert server.registry.get("apps", "v1", "deployments") is served
        assert server.registry.stored("deployments.apps").cache is served.cache


@pytest.mark.parametrize(("group", "version", "name"), [("apps", "v2", "deployments"), ("", "v1", "unheard")])
async def test_get_returns_none_for_unknown_resources(group, version, name):
    async with Server() as server:
        assert server.registry.get(group, version, name) is None
        assert server.registry.resource(group, version, name) is None
        with pytest.raises(KeyError):
            server.registry.stored(f"{name}.{group}x")


async def test_of_kind_returns_resources_by_kind():
    async with Server() as server:
        assert [r.name for r in server.registry.of_kind("apps/v1", "Deployment")] == ["deployments"]
        assert server.registry.of_kind("apps/v2", "Deployment") == []


async def test_reviews_are_resources_without_storage():
    async with Server() as server:
        key = ("authorization.k8s.io", "v1", "subjectaccessreviews")
        assert server.registry.get(*key) is None
        assert server.registry.resource(*key).kind == "SubjectAccessReview"


async def test_versions_of_a_kind_share_storage():
    async with Server() as server:
        one = server.registry.get("autoscaling", "v1", "horizontalpodautoscalers")
        two = server.registry.get("autoscaling", "v2", "horizontalpodautoscalers")
        assert (one.cache, one.storage, one.strategy) == (two.cache, two.storage, two.strategy)
        assert (one.to_storage is None, two.to_storage is None) == (False, True)
        siblings = server.registry.siblings(one)
        assert siblings == {"autoscaling/v1": one, "autoscaling/v2": two}


async def test_added_and_removed_resources_notify_listeners():
    async with Server() as server:
        notified: list[tuple[str, str, str]] = []
        server.registry.listeners.append(lambda *key: notified.append(key))
        retained = server.registry.create_stored(WIDGETS, Strategy())
        served = ServedResource(
            WIDGETS, storage=retained.objects, cache=retained.cache, strategy=retained.strategy, struct=None
        )
        server.registry.add(served)
        key = ("example.com", "v1", "widgets")
        assert server.registry.get(*key) is served
        assert server.registry.resource(*key) is WIDGETS
        assert server.registry.siblings(served) == {"example.com/v1": served}
        assert server.registry.remove(*key) is served
        assert server.registry.get(*key) is None
        assert server.registry.remove(*key) is None
        assert notified == [key, key, key]


async def test_added_resources_are_closed_with_the_registry():
    async with Server() as server:
        retained = server.registry.create_stored(WIDGETS, Strategy())
        server.registry.add(
            ServedResource(
                WIDGETS, storage=retained.objects, cache=retained.cache, strategy=retained.strategy, struct=None
            )
        )
        await retained.cache.ready()
        server.registry.close()
        assert retained.cache.closed


async def test_registered_factory_builds_the_strategy():
    class Special(Strategy):
        group_resource = "configmaps"

    special = Special()
    async with Server(strategies={"configmaps": lambda: special}) as server:
        assert server.registry.get("", "v1", "configmaps").strategy is special


async def test_close_ends_watches():
    async with Server() as server:
        await server.make()
        watching = asyncio.ensure_future(server.call("GET", CONFIG_MAPS, query="watch=true&resourceVersion=0"))
        for _ in range(10):
            await asyncio.sleep(0)  # noqa: TID251
        assert not watching.done()
        server.registry.close()
        async with asyncio.timeout(HANG_SECONDS):
            answer = await watching
        assert (answer.code, answer.body["type"]) == (200, "ADDED")
