"""Shared informers."""

import asyncio

import pytest
from lightkube.models.core_v1 import ConfigMap, Pod
from lightkube.models.meta_v1 import ObjectMeta
from tests.unit.client.scripted import ScriptedTransport, Stream, config_map, listing

from steersman.asynckit.clock import FakeClock
from steersman.client.client import Client
from steersman.client.informer_factory import InformerFactory
from steersman.client.metadata_interner import drop_managed_fields
from steersman.client.reflector import ReflectorOptions
from steersman.client.resource_types import tree

LIST = ReflectorOptions(streaming_list=False)


def factory_over(*script, **options):
    transport = ScriptedTransport(*script)
    return InformerFactory(Client(transport, clock=FakeClock()), options=LIST, **options), transport


def test_informer_is_shared_for_the_same_selection():
    informers, _ = factory_over()
    first = informers.informer(ConfigMap, label_selector={"a": "b"})
    assert informers.informer(ConfigMap, label_selector="a=b") is first
    assert informers.informers == [first]


def test_informer_differs_by_class_namespace_and_selection():
    informers, _ = factory_over()
    created = {
        id(informers.informer(ConfigMap)),
        id(informers.informer(Pod)),
        id(informers.informer(tree("v1", "Pod"))),
        id(informers.informer(Pod, namespace="x")),
        id(informers.informer(Pod, label_selector="a")),
        id(informers.informer(Pod, field_selector="a=b")),
    }
    assert len(created) == 6


def test_informer_rejects_another_transform():
    informers, _ = factory_over()
    first = informers.informer(Pod, transform=drop_managed_fields)
    assert informers.informer(Pod, transform=drop_managed_fields) is first
    with pytest.raises(ValueError, match="the informer of pods is there already, with another transform"):
        informers.informer(Pod)


def test_factory_transform_is_the_default():
    informers, _ = factory_over(transform=drop_managed_fields)
    assert informers.informer(Pod) is informers.informer(Pod, transform=drop_managed_fields)
    assert (
        informers.informer(Pod).transform(Pod(metadata=ObjectMeta(name="a", managedFields=[]))).metadata.managedFields
        is None
    )


async def test_start_starts_new_informers_and_close_stops_all():
    informers, transport = factory_over(listing(config_map("a", 1), version=5), Stream(), listing(version=5), Stream())
    before = asyncio.all_tasks()
    async with informers:
        first = informers.informer(ConfigMap)
        informers.start()
        await informers.wait_synced(timeout_seconds=5)
        assert len(first.lister) == 1
        informers.informer(ConfigMap, namespace="x")
        informers.start()
        await informers.wait_synced(timeout_seconds=5)
        assert transport.script == []
    assert asyncio.all_tasks() == before


async def test_wait_synced_names_unsynced_informers():
    transport = ScriptedTransport(None)
    clock = FakeClock()
    async with InformerFactory(Client(transport, clock=clock), options=LIST) as informers:
        informers.informer(ConfigMap)
        informers.start()
        task = asyncio.ensure_future(informers.wait_synced(timeout_seconds=5))
        await clock.advance(5)
        with pytest.raises(TimeoutError, match="not synced within 5 seconds: configmaps"):
            task.result()
