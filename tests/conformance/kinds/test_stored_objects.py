"""Stored objects of every built-in kind are valid, defaulted and of their type."""

import pytest
from tests.all_kinds import OBJECTS, create_all, resource_of

from steersman.apiserver.request import RequestContext, UserInfo
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for
from steersman.testing import InProcessAPIServer


def name_of(obj):
    return f"{obj['kind']}.{obj['apiVersion']}"


@pytest.fixture
async def stored():
    """Return for each object of the manifest its stored form and its resource."""
    async with InProcessAPIServer() as server:
        await create_all(server)
        registry = server.core.resources.registry
        entries = {}
        for obj in OBJECTS:
            resource = resource_of(obj)
            served = registry.get(resource.group, resource.version, resource.name)
            namespace = "default" if resource.namespaced else ""
            entry = served.cache.get(served.cache.key(namespace, obj["metadata"]["name"]))
            entries[name_of(obj)] = (served, entry)
        yield entries


def struct_of(served):
    group, _, version = served.resource.storage_api_version.rpartition("/")
    return struct_for(group, version, served.resource.kind)


def context(entry, served):
    metadata = entry.tree()["metadata"]
    return RequestContext(
        UserInfo("alice", groups=("system:masters",)), served.clock.now(), namespace=metadata.get("namespace", "")
    )


async def test_stored_objects_are_valid(stored):
    faults = {}
    for name, (served, entry) in stored.items():
        ctx, tree = context(entry, served), entry.tree()
        errors = [*served.strategy.validate(ctx, tree), *served.strategy.validate_update(ctx, tree, entry.tree())]
        faults[name] = [str(error) for error in errors]
    assert [text for texts in faults.values() for text in texts] == []


async def test_stored_objects_are_completely_defaulted(stored):
    again = {name: entry.tree() for name, (_, entry) in stored.items()}
    for name, (served, _) in stored.items():
        served.strategy.default(again[name], served.resource.storage_api_version.rpartition("/")[2])
    assert again == {name: entry.tree() for name, (_, entry) in stored.items()}


async def test_stored_objects_decode_unchanged(stored):
    decoded = {name: decode(struct_of(served), entry.tree()) for name, (served, entry) in stored.items()}
    assert decoded == {name: (entry.tree(), []) for name, (_, entry) in stored.items()}
