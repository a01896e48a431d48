from __future__ import annotations

from tests.unit.apiserver.writing import CONFIG_MAPS, Server

from steersman.apiserver.admission.interface import Operation, Plugin
from steersman.asynckit.slices import next_turn


class Protecting(Plugin):
    """Takes its time, and rejects the deletion of one ConfigMap."""

    name = "RuntimeClass"

    def __init__(self, protected: str) -> None:
        self.protected = protected
        self.names: list[str] = []

    def handles(self, resource, subresource, operation):
        return resource.name == "configmaps" and operation is Operation.DELETE

    async def validate(self, attributes):
        name = attributes.old_object["metadata"]["name"]
        self.names.append(name)
        await next_turn()
        if name == self.protected:
            raise attributes.forbidden(f"{name} is protected")


async def _make(server: Server, count: int) -> None:
    for number in range(count):
        await server.make(metadata={"name": f"a{number:03}", "labels": {"n": f"v{number % 2}"}})


def _names(answer) -> list[str]:
    return [item["metadata"]["name"] for item in answer.body["items"]]


async def test_deletecollection_deletes_selected_objects_only():
    async with Server() as server:
        await _make(server, 4)
        answer = await server.call("DELETE", CONFIG_MAPS, query={"labelSelector": "n=v0"})
        assert (answer.body["kind"], _names(answer)) == ("ConfigMapList", ["a000", "a002"])
        assert _names(await server.call("GET", CONFIG_MAPS)) == ["a001", "a003"]
        by_name = await server.call("DELETE", CONFIG_MAPS, query={"fieldSelector": "metadata.name=a001"})
        assert _names(by_name) == ["a001"]


async def test_deletecollection_deletes_more_objects_than_its_concurrency():
    async with Server() as server:
        await _make(server, 70)
        assert len(_names(await server.call("DELETE", CONFIG_MAPS))) == 70
        assert _names(await server.call("GET", CONFIG_MAPS)) == []


async def test_deletecollection_limit_returns_a_continue_token():
    async with Server() as server:
        await _make(server, 3)
        answer = await server.call("DELETE", CONFIG_MAPS, query={"limit": "2"})
        assert _names(answer) == ["a000", "a001"]
        assert answer.body["metadata"]["continue"]
        assert _names(await server.call("GET", CONFIG_MAPS)) == ["a002"]


async def test_deletecollection_applies_finalizers_and_policies_to_each_object():
    async with Server() as server:
        await server.make(metadata={"finalizers": ["example.com/f"]})
        await server.make(metadata={"name": "b"})
        await server.call("DELETE", CONFIG_MAPS, {"propagationPolicy": "Orphan"})
        left = (await server.call("GET", CONFIG_MAPS)).body["items"]
        assert [item["metadata"]["finalizers"] for item in left] == [["example.com/f", "orphan"], ["orphan"]]


async def test_deletecollection_dry_run_keeps_the_objects():
    async with Server() as server:
        await _make(server, 2)
        assert len(_names(await server.call("DELETE", CONFIG_MAPS, query={"dryRun": "All"}))) == 2
        assert len(_names(await server.call("GET", CONFIG_MAPS))) == 2


async def test_deletecollection_with_invalid_selectors_or_options_deletes_nothing():
    async with Server() as server:
        await _make(server, 1)
        for query in ({"labelSelector": "n in ("}, {"fieldSelector": "data.k=v"}, {"limit": "x"}):
            assert (await server.call("DELETE", CONFIG_MAPS, query=query)).code == 400
        assert (await server.call("DELETE", CONFIG_MAPS, query={"dryRun": "No"})).code == 422
        assert len(_names(await server.call("GET", CONFIG_MAPS))) == 1


async def test_deletecollection_stops_at_the_first_object_that_admission_rejects():
    plugin = Protecting("a002")
    async with Server(plugin) as server:
        await _make(server, 5)
        answer = await server.call("DELETE", CONFIG_MAPS)
        assert (answer.code, answer.body["message"].endswith("a002 is protected")) == (403, True)
        assert plugin.names == ["a000", "a001", "a002"]
        assert _names(await server.call("GET", CONFIG_MAPS)) == ["a002", "a003", "a004"]
