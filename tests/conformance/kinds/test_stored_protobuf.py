"""Every kind that the server stores in protobuf, read by a decoder that is not ours, is what the API shows."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
from uuid import uuid4

import pytest

pytest.importorskip("google.protobuf", reason="the dev extra is not installed")
from scripts.etcd_cluster import find_binary
from tests.all_kinds import BY_KIND, OBJECTS, create_all
from tests.conformance.protobuf.independent import stored_object

from steersman.apiserver.generic.storage_codec import _recent
from steersman.asynckit.clock import RealClock
from steersman.controlplane.etcd import open_etcd_store
from steersman.controlplane.options import APIServerOptions
from steersman.controlplane.storage_check import StorageChecker
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for
from steersman.schema.protobuf import MEDIA_TYPE
from steersman.schema.resources import table
from steersman.testing import InProcessAPIServer

STORED = {r.key_prefix: r for r in table().resources if r.key_prefix and r.api_version == r.storage_api_version}


def resource_of(key):
    """Return the resource of a key; the longest prefix counts."""
    prefixes = [prefix for prefix in STORED if key.startswith(f"{prefix}/")]
    return STORED[max(prefixes, key=len)] if prefixes else None


@pytest.fixture
async def server():
    """A server that stores protobuf, with an object of every kind and the objects of its own bootstrap."""
    options = APIServerOptions(ephemeral=True, storage_media_type=MEDIA_TYPE, advertise_address="192.0.2.1")
    async with InProcessAPIServer(options=options, with_bootstrap_controller=True) as server:
        await create_all(server)
        yield server


async def shown(server, resource, namespace, name):
    """Return the object as the API shows it in its storage version."""
    place = f"/namespaces/{namespace}" if resource.namespaced else ""
    root = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    answer = await server.request("GET", f"{root}{place}/{resource.name}/{name}")
    assert answer.code == 200
    return answer.json()


async def test_stored_values_decoded_independently_equal_what_the_api_shows(server):
    kinds = set()
    for kv in (await server.store.range("/registry/")).kvs:
        resource = resource_of(kv.key)
        if resource is None:
            assert kv.key.startswith(("/registry/masterleases/", "/registry/ranges/"))
            continue
        path = kv.key.removeprefix(f"{resource.key_prefix}/")
        namespace, _, name = path.rpartition("/")
        obj = await shown(server, resource, namespace, name)
        # The server's own loops may have written it meanwhile.
        revision = int(obj["metadata"].pop("resourceVersion"))
        stored = await server.store.get(kv.key, revision=revision)
        assert stored.mod_revision == revision
        api_version, kind, tree = stored_object(stored.value, resource.definition)
        struct = struct_for(resource.group, resource.version, resource.kind)
        decoded = decode(struct, tree)
        assert (api_version, kind, decoded.unknown) == (resource.stored_as, obj.pop("kind"), [])
        assert obj.pop("apiVersion") == resource.api_version
        assert decoded.tree == without_embedded_kinds(obj)
        kinds.add(resource.kind)
    assert kinds >= {obj["kind"] for obj in OBJECTS}


async def test_values_read_back_without_memory_are_the_entries_of_the_cache(server):
    _recent._answers.clear()  # as after a restart
    for kv in (await server.store.range("/registry/")).kvs:
        resource = resource_of(kv.key)
        if resource is not None:
            cache = server.core.resources.registry.get(resource.group, resource.version, resource.name).cache
            await cache.ready()
            assert cache.layout.entry(kv.key, kv.value, kv.mod_revision).tree() == cache.get(kv.key).tree()


async def test_nothing_but_custom_resources_is_stored_as_json(server):
    values = {kv.key: kv.value for kv in (await server.store.range("/registry/")).kvs}
    assert [key for key, value in values.items() if not value.startswith(b"k8s\x00")] == []


def without_embedded_kinds(tree):
    """Remove kind and apiVersion of volume claim templates: protobuf has none, defaulting adds them again."""
    for template in tree.get("spec", {}).get("volumeClaimTemplates", ()):
        template.pop("kind", None)
        template.pop("apiVersion", None)
    return tree


async def test_objects_in_etcd_are_upstreams_bytes_under_upstreams_keys(etcd_url):
    """Keys and values as etcd's own client reads them; by default a server with etcd stores protobuf."""
    prefix = f"/{uuid4().hex}"
    options = APIServerOptions(ephemeral=True, etcd_servers=(etcd_url,), etcd_prefix=prefix)
    store = await open_etcd_store(options, clock=RealClock())
    async with InProcessAPIServer(options=options, store=store) as server:
        await server.request(
            "POST", "/api/v1/namespaces/default/serviceaccounts", body=b'{"metadata":{"name":"default"}}'
        )
        pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        answer = await server.request("POST", "/api/v1/namespaces/default/pods", body=json.dumps(pod).encode())
        obj = await shown(server, BY_KIND["v1", "Pod"], "default", "a")
        done = await asyncio.to_thread(
            subprocess.run,
            [find_binary("etcdctl"), f"--endpoints={etcd_url}", "get", "--prefix", f"{prefix}/", "-w", "json"],
            capture_output=True,
            check=True,
        )
    kvs = {base64.b64decode(kv["key"]).decode(): kv for kv in json.loads(done.stdout)["kvs"]}
    value = base64.b64decode(kvs[f"{prefix}/pods/default/a"]["value"])
    api_version, kind, tree = stored_object(value, "io.k8s.api.core.v1.Pod")
    assert answer.code == 201
    assert (api_version, kind) == (obj.pop("apiVersion"), obj.pop("kind"))
    assert obj["metadata"].pop("resourceVersion") == str(kvs[f"{prefix}/pods/default/a"]["mod_revision"])
    assert decode(struct_for("", "v1", "Pod"), tree).tree == obj
    checker = StorageChecker()
    values = {key: base64.b64decode(kv["value"]) for key, kv in kvs.items()}
    assert [
        key for key, value in values.items() if checker.problem(f"/registry{key.removeprefix(prefix)}", value)
    ] == []
    assert all(value.startswith(b"k8s\x00") for value in values.values())
