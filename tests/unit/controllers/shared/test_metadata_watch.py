import asyncio

from lightkube.models.core_v1 import Namespace, Secret

from steersman.client import tree
from steersman.client.changes import Added
from steersman.client.informer_factory import InformerFactory
from steersman.client.objects import name_of
from steersman.controllers.shared.metadata_watch import shared

SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def definition(group="example.com"):
    names = {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": SCHEMA}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"toys.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


async def test_metadata_watch_follows_definitions(client, clock, until):
    async with InformerFactory(client) as informers:
        watch = shared(client, informers, clock=clock)
        informers.start()
        received = []
        watch.listen(lambda resource, change: received.append((resource.info.group_resource, change)))
        stop = asyncio.Event()

        async def run():
            async with watch.running():
                await stop.wait()

        running = asyncio.create_task(run())
        await until(lambda: watch.is_synced)
        assert ("namespaces", "kube-system") in {(name, name_of(change.latest)) for name, change in received}
        assert "events" not in watch.informers

        created = await client.create(definition())
        await until(lambda: "toys.example.com" in watch.informers)
        await clock.advance(2)
        toy = {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "t", "namespace": "default"}}
        await client.create(toy)
        await until(lambda: any(name == "toys.example.com" and isinstance(change, Added) for name, change in received))

        await client.delete_object(created)
        await until(lambda: "toys.example.com" not in watch.informers)
        stop.set()
        await running


async def test_listen_synced_reports_each_resource_after_its_first_list(client, clock, until):
    async with InformerFactory(client) as informers:
        watch = shared(client, informers, clock=clock)
        informers.start()
        synced = []
        watch.listen_synced(lambda name: synced.append((name, watch.informers[name].has_synced)))
        async with watch.running():
            await until(lambda: len(synced) == len(watch.informers))
            assert ("pods", True) in synced
            created = await client.create(definition())
            await until(lambda: ("toys.example.com", True) in synced)
            await client.delete_object(created)
            await until(lambda: "toys.example.com" not in watch.informers)
            await client.create(definition())
            await until(lambda: synced.count(("toys.example.com", True)) == 2)


async def test_shared_returns_one_watch_per_informer_factory(client, clock):
    one, other = InformerFactory(client), InformerFactory(client)
    assert shared(client, one, clock=clock) is shared(client, one, clock=clock)
    assert shared(client, one, clock=clock) is not shared(client, other, clock=clock)


async def test_discarded_informer_is_recreated(client):
    async with InformerFactory(client) as informers:
        first = informers.informer(tree("v1", "ConfigMap"))
        first.start()
        await informers.discard(first)
        second = informers.informer(tree("v1", "ConfigMap"))
        assert second is not first
        second.start()
        await second.wait_synced()


async def test_unused_watch_is_not_kept(client, clock, until):
    async with InformerFactory(client) as informers:
        watch = shared(client, informers, clock=clock)
        informers.start()
        stop = asyncio.Event()

        async def run():
            async with watch.running():
                await stop.wait()

        running = asyncio.create_task(run())
        await until(lambda: watch.is_synced)
        response = watch.informers["namespaces"].lister.get("kube-system")
        assert response.metadata.uid
        assert not hasattr(response.metadata, "managedFields")
        stop.set()
        await running


async def test_resource_with_an_informer_of_whole_objects_has_no_second_one(client, clock, until):
    async with InformerFactory(client) as informers:
        whole, selected = informers.informer(Namespace), informers.informer(Secret, label_selector="a=b")
        watch = shared(client, informers, clock=clock)
        informers.start()
        names = set()
        watch.listen(lambda resource, change: names.add((resource.info.group_resource, name_of(change.latest))))
        async with watch.running():
            await until(lambda: watch.is_synced)
            assert watch.informers["namespaces"] is whole
            assert watch.informers["secrets"] is not selected
            assert [informer.name for informer in informers.informers].count("namespaces") == 1
            assert ("namespaces", "kube-system") in names
