import pytest

from steersman.client import Client, custom
from steersman.client.errors import Forbidden, from_status
from steersman.client.resource_types import tree
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.runtime.references import CannotAdopt, ReferenceManager
from steersman.testing import InProcessAPIServer

REPLICA_SETS = tree("apps/v1", "ReplicaSet")
CONFIG_MAPS = tree("v1", "ConfigMap")


@pytest.fixture
async def client():
    async with InProcessAPIServer() as server:
        yield Client(LoopbackTransport(server.core.client))


def replica_set(name="web"):
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}


def config_map(name, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", **metadata}}


def manager_of(client, owner, **options):
    return ReferenceManager(client, owner, controller_resource=REPLICA_SETS, dependents=CONFIG_MAPS, **options)


async def owners_on_server(client, name):
    result = await client.get(CONFIG_MAPS, name, namespace="default")
    return result["metadata"].get("ownerReferences")


def is_web(obj):
    return obj["metadata"].get("labels") == {"app": "web"}


def always(obj):
    return True


def never(obj):
    return False


async def test_claim_adopts_a_matching_orphan(client):
    owner = await client.create(replica_set())
    orphan = await client.create(config_map("a", labels={"app": "web"}))
    other = await client.create(config_map("b"))
    claimed = await manager_of(client, owner, finalizers=["example.com/f"]).claim([orphan, other], is_web)
    assert [obj["metadata"]["name"] for obj in claimed] == ["a"]
    (reference,) = await owners_on_server(client, "a")
    assert reference == {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner["metadata"]["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    assert await owners_on_server(client, "b") is None
    adopted = await client.get(CONFIG_MAPS, "a", namespace="default")
    assert adopted["metadata"]["finalizers"] == ["example.com/f"]


async def test_claim_releases_objects_that_no_longer_match(client):
    owner = await client.create(replica_set())
    await manager_of(client, owner).adopt(await client.create(config_map("a")))
    ours = await client.get(CONFIG_MAPS, "a", namespace="default")
    assert await manager_of(client, owner).claim([ours], never) == []
    assert await owners_on_server(client, "a") is None


async def test_release_ignores_deleted_and_recreated_objects(client):
    owner = await client.create(replica_set())
    deleted = await client.create(config_map("a"))
    await client.delete(CONFIG_MAPS, "a", namespace="default")
    await manager_of(client, owner).release(deleted)
    await client.create(config_map("a"))
    await manager_of(client, owner).release(deleted)


async def test_claim_skips_a_deleted_orphan(client):
    owner = await client.create(replica_set())
    deleted = await client.create(config_map("a"))
    await client.delete(CONFIG_MAPS, "a", namespace="default")
    assert await manager_of(client, owner).claim([deleted], always) == []


async def test_claim_by_a_recreated_owner_does_not_adopt(client):
    old = await client.create(replica_set())
    await client.delete(REPLICA_SETS, "web", namespace="default")
    new = await client.create(replica_set())
    orphan = await client.create(config_map("a"))
    with pytest.raises(CannotAdopt) as caught:
        await manager_of(client, old).claim([orphan], always)
    new_uid, old_uid = new["metadata"]["uid"], old["metadata"]["uid"]
    assert str(caught.value) == f'original ReplicaSet "default/web" is gone: got uid {new_uid}, wanted {old_uid}'
    assert await owners_on_server(client, "a") is None


async def test_claim_by_a_terminating_owner_does_not_adopt_with_a_stale_cache(client):
    held = replica_set()
    held["metadata"]["finalizers"] = ["example.com/f"]
    cached = await client.create(held)
    await client.delete(REPLICA_SETS, "web", namespace="default")
    orphan = await client.create(config_map("a"))
    with pytest.raises(CannotAdopt, match='ReplicaSet "default/web" has just been deleted at 2'):
        await manager_of(client, cached).adopt(orphan)


class ScriptedClient:
    """Answers reads with the controller and notes patches; a patch of ``failing`` is refused."""

    def __init__(self, controller, failing=()):
        self.controller, self.failing = controller, failing
        self.reads, self.patches = 0, []

    async def get(self, resource, name, **options):
        self.reads += 1
        return self.controller

    async def patch(self, resource, name, patch, *, patch_type, namespace):
        if name in self.failing:
            raise from_status({"code": 403, "reason": "Forbidden", "message": f"patch of {name}"})
        self.patches.append((name, patch, patch_type.name))


OWNER = {"metadata": {"name": "web", "namespace": "default", "uid": "us"}}


def orphan(name):
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "7"}}


async def test_claim_reads_the_owner_once():
    client = ScriptedClient(OWNER)
    claimed = await manager_of(client, OWNER).claim([orphan("a"), orphan("b")], always)
    assert len(claimed) == 2
    assert client.reads == 1


async def test_claim_tries_all_objects_then_raises_the_first_failure(caplog):
    client = ScriptedClient(OWNER, failing=["a", "c"])
    with pytest.raises(Forbidden, match="patch of a"):
        await manager_of(client, OWNER).claim([orphan("a"), orphan("b"), orphan("c")], always)
    assert [name for name, _, _ in client.patches] == ["b"]
    assert "claiming default/c for default/web: patch of c" in caplog.text


async def test_claim_of_a_custom_resource_patches_the_whole_list():
    widgets = custom("example.com/v1", "Widget", plural="widgets")
    client = ScriptedClient(OWNER)
    manager = ReferenceManager(
        client, OWNER, controller_resource=REPLICA_SETS, dependents=widgets, finalizers=["new", "old"]
    )
    obj = orphan("a")
    node = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "other"}
    obj["metadata"] |= {"ownerReferences": [node], "finalizers": ["old"]}
    await manager.adopt(obj)
    (_, patch, patch_type) = client.patches[0]
    assert patch_type == "MERGE"
    assert patch["metadata"]["resourceVersion"] == "7"
    assert [owner["uid"] for owner in patch["metadata"]["ownerReferences"]] == ["other", "us"]
    assert patch["metadata"]["finalizers"] == ["old", "new"]
    await manager.release({"metadata": obj["metadata"] | {"ownerReferences": patch["metadata"]["ownerReferences"]}})
    assert client.patches[1][1]["metadata"]["ownerReferences"] == [node]
