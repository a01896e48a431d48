import pytest

from steersman.client import tree
from steersman.controllers.storageversiongc.controller import STORAGE_VERSIONS, build
from steersman.controllers.storageversiongc.plan import Delete, Keep, Write, decide, servers


def version(*servers):
    rows = [{"apiServerID": name, "encodingVersion": encoding} for name, encoding in servers]
    return {
        "metadata": {"name": "apps.deployments"},
        "status": {"storageVersions": rows, "commonEncodingVersion": "v1"},
    }


def test_decide_keeps_when_all_servers_live():
    assert decide(version(("a", "v1")), {"a"}, now="now") == Keep()


def test_decide_deletes_without_live_servers():
    assert decide(version(("a", "v1")), set(), now="now") == Delete()


@pytest.mark.parametrize(
    ("servers", "common", "status"),
    [([("b", "v2"), ("c", "v2")], "v2", "True"), ([("b", "v1"), ("c", "v2")], None, "False")],
)
def test_decide_writes_the_common_version(servers, common, status):
    decision = decide(version(("a", "v1"), *servers), {"b", "c"}, now="now")
    assert isinstance(decision, Write)
    assert decision.obj["status"].get("commonEncodingVersion") == common
    assert decision.obj["status"]["conditions"][0]["status"] == status
    assert len(decision.obj["status"]["storageVersions"]) == 2


def test_servers_are_unique():
    assert servers(version(("a", "v1"), ("b", "v1"), ("a", "v2"))) == {"a", "b"}
    assert servers({"metadata": {"name": "new"}}) == set()


@pytest.fixture
async def definitions(cluster):
    """The server itself does not serve the kind."""
    await cluster.define(STORAGE_VERSIONS)


async def make_version(cluster, *servers):
    whole = {"apiVersion": "internal.apiserver.k8s.io/v1alpha1", "kind": "StorageVersion", **version(*servers)}
    created = await cluster.client.create({**whole, "status": {}})
    await cluster.client.update_status({**created, "status": whole["status"]})


@pytest.mark.usefixtures("definitions")
async def test_uncached_lease_is_read_from_the_server(cluster):
    """One without the label is never in the cache; its server lives all the same."""
    await cluster.make("coordination.k8s.io/v1", "Lease", "a", namespace="kube-system", spec={})
    await make_version(cluster, ("a", "v1"), ("b", "v1"))
    await cluster.start(build)

    async def entries():
        result = await cluster.client.get(STORAGE_VERSIONS, "apps.deployments")
        return [storage_version["apiServerID"] for storage_version in result["status"]["storageVersions"]] == ["a"]

    await cluster.until(entries)


@pytest.mark.usefixtures("definitions")
async def test_entries_are_removed_with_their_servers_lease(cluster):
    metadata = {"labels": {"apiserver.kubernetes.io/identity": "kube-apiserver"}}
    for name in ("a", "b"):
        await cluster.make("coordination.k8s.io/v1", "Lease", name, namespace="kube-system", metadata=metadata, spec={})
    await make_version(cluster, ("a", "v1"), ("b", "v2"))
    await cluster.start(build)
    await cluster.client.delete(tree("coordination.k8s.io/v1", "Lease"), "a", namespace="kube-system")

    async def common():
        return (await cluster.client.get(STORAGE_VERSIONS, "apps.deployments"))["status"].get(
            "commonEncodingVersion"
        ) == "v2"

    await cluster.until(common)
    await cluster.client.delete(tree("coordination.k8s.io/v1", "Lease"), "b", namespace="kube-system")

    async def is_deleted():
        return not await cluster.client.list(STORAGE_VERSIONS)

    await cluster.until(is_deleted)
