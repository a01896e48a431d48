"""Stored objects of every built-in kind are valid, defaulted and of their type."""

import json
from pathlib import Path

import pytest
import yaml

from steersman.apiserver.request import RequestContext, UserInfo
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for
from steersman.schema.resources import table
from steersman.testing import InProcessAPIServer

MANIFEST = (Path(__file__).parents[2] / "e2e" / "manifests" / "all-kinds.yaml").read_text()
OBJECTS = list(yaml.safe_load_all(MANIFEST.replace("NAMESPACE", "default")))
RESOURCES = {(r.api_version, r.kind): r for r in table().resources if r.key_prefix}


def name_of(obj):
    return f"{obj['kind']}.{obj['apiVersion']}"


@pytest.fixture
async def stored():
    """Return for each object of the manifest its stored form and its resource."""
    async with InProcessAPIServer() as server:
        await make(server, "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        registry = server.core.resources.registry
        entries = {}
        for obj in OBJECTS:
            resource = RESOURCES[obj["apiVersion"], obj["kind"]]
            place = "/namespaces/default" if resource.namespaced else ""
            root = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
            await make(server, f"{root}{place}/{resource.name}", obj)
            served = registry.get(resource.group, resource.version, resource.name)
            namespace = "default" if resource.namespaced else ""
            entry = served.cache.get(served.cache.key(namespace, obj["metadata"]["name"]))
            entries[name_of(obj)] = (served, entry)
        yield entries


async def make(server, path, obj):
    answer = await server.request("POST", path, body=json.dumps(obj).encode())
    assert answer.code == 201, answer.json()


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
