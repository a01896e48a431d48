"""Writes of EndpointSlices against a server: annotations, empty lists, own writes and terminating namespaces."""

from __future__ import annotations

import pytest
from lightkube.models.discovery_v1 import Endpoint, EndpointSlice
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client import tree
from steersman.client.errors import ApiError, Conflict
from steersman.controllers.endpoints.packing import Changes
from steersman.controllers.endpoints.services import MANAGED_BY, SERVICE_NAME
from steersman.controllers.endpoints.slice_writing import BY_SERVICE, key_of_slice, of_service, write_slices
from steersman.controllers.shared.base import ManagedController

SLICE = tree("discovery.k8s.io/v1", "EndpointSlice")
KEY = "default/web"


class Writing(ManagedController):
    """Controller of slices whose writes the tests make."""

    name = "writing"

    def __init__(self, context):
        super().__init__(context)
        self.slices = self.informer(EndpointSlice)
        self.slices.add_index(BY_SERVICE, key_of_slice)

    async def reconcile(self, key):
        """Do nothing."""


def new_slice(name, *addresses, namespace="default", manager="test", **annotations):
    labels = {SERVICE_NAME: "web", MANAGED_BY: manager}
    metadata = ObjectMeta(name=name, namespace=namespace, labels=labels, annotations=annotations or None)
    endpoints = [Endpoint(addresses=[address]) for address in addresses]
    return EndpointSlice(addressType="IPv4", endpoints=endpoints, metadata=metadata)


async def written(cluster, name="one"):
    return await cluster.client.get(SLICE, name, namespace="default")


@pytest.fixture
async def controller(cluster):
    return await cluster.start(Writing)


async def test_write_slices_creates_with_annotations_and_records_the_write(cluster, controller):
    changes = Changes(create=[new_slice("one", "10.0.0.1", kept="yes", dropped="yes")])
    await write_slices(controller, KEY, controller.slices, changes, notes={"added": "now", "dropped": None})
    stored = await written(cluster)
    assert stored["metadata"]["annotations"] == {"kept": "yes", "added": "now"}
    assert controller.queue.delayed == 1  # a second look, in case the slice is deleted unobserved
    await controller.own_writes.await_seen(KEY)
    assert [item.metadata.name for item in of_service(controller.slices, KEY, manager="test")] == ["one"]


async def test_write_slices_omits_an_empty_list_of_endpoints(cluster, controller):
    await write_slices(controller, KEY, controller.slices, Changes(create=[new_slice("one")]), notes={})
    [entry] = (await written(cluster))["metadata"]["managedFields"]
    assert "f:endpoints" not in entry["fieldsV1"]


async def test_write_slices_updates_and_deletes_cached_versions(cluster, controller):
    slices = [new_slice("one", "10.0.0.1"), new_slice("two", "10.0.0.2")]
    await write_slices(controller, KEY, controller.slices, Changes(create=slices), notes={})
    await controller.own_writes.await_seen(KEY)
    one, two = (controller.slices.lister.get(name, namespace="default") for name in ("one", "two"))
    await write_slices(controller, KEY, controller.slices, Changes(update=[one], delete=[two]), notes={"a": "b"})
    assert (await written(cluster))["metadata"]["annotations"] == {"a": "b"}
    assert await cluster.find(SLICE.info.api_version, "EndpointSlice", "two", namespace="default") is None


async def test_write_slices_raises_a_conflict_of_an_outdated_slice(cluster, controller):
    await write_slices(controller, KEY, controller.slices, Changes(create=[new_slice("one", "10.0.0.1")]), notes={})
    await controller.own_writes.await_seen(KEY)
    outdated = controller.slices.lister.get("one", namespace="default")
    await cluster.client.patch(SLICE, "one", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
    with pytest.raises(Conflict):
        await write_slices(controller, KEY, controller.slices, Changes(update=[outdated]), notes={"a": "b"})


async def test_write_slices_stops_in_a_terminating_namespace(cluster, controller):
    await cluster.make("v1", "Namespace", "ending", spec={"finalizers": ["example.com/held"]})
    await cluster.client.delete(tree("v1", "Namespace"), "ending")
    changes = Changes(create=[new_slice("one", "10.0.0.1", namespace="ending")])
    await write_slices(controller, "ending/web", controller.slices, changes, notes={})
    assert await cluster.client.list(SLICE, namespace="ending") is not None


async def test_write_slices_raises_other_rejections(controller):
    with pytest.raises(ApiError):
        await write_slices(controller, KEY, controller.slices, Changes(create=[new_slice("Invalid")]), notes={})


def test_key_of_slice_is_that_of_its_service():
    assert key_of_slice(new_slice("one")) == ["default/web"]
    assert key_of_slice(EndpointSlice("IPv4", metadata=ObjectMeta(name="x", namespace="default"), endpoints=[])) == []


async def test_of_service_excludes_slices_of_other_managers(controller):
    slices = [new_slice("one", "10.0.0.1"), new_slice("two", "10.0.0.2", manager="other")]
    await write_slices(controller, KEY, controller.slices, Changes(create=slices), notes={})
    await controller.own_writes.await_seen(KEY)
    assert [item.metadata.name for item in of_service(controller.slices, KEY, manager="other")] == ["two"]
