"""How much is stored."""

from steersman.controlplane.storage_metrics import StorageMetrics
from steersman.testing import InProcessAPIServer


async def test_storage_metrics_have_bytes_and_objects():
    async with InProcessAPIServer() as server:
        await server.request("GET", "/api/v1/configmaps")
        families = await StorageMetrics(server.store, server.core.resources.registry).collect()
    values = {
        (family.name, *(value for _, value in labels)): n for family in families for _, labels, n in family.samples
    }
    assert values["apiserver_resource_objects", "", "namespaces"] == 4
    assert values["apiserver_resource_objects", "", "configmaps"] == 0
    assert values["apiserver_storage_size_bytes", "etcd-0"] > 0


async def test_watch_caches_count_their_events_fills_and_reads():
    async with InProcessAPIServer() as server:
        path = "/api/v1/namespaces/default/configmaps"
        await server.request("GET", path)
        await server.request("POST", path, body=b'{"metadata":{"name":"a"}}')
        metrics = StorageMetrics(server.store, server.core.resources.registry)
        values = {
            (family.name, *labels[2:]): number
            for family in await metrics.collect()
            for _, labels, number in family.samples
            if ("resource", "configmaps") in labels
        }
    assert values["apiserver_storage_events_received_total",] == 1
    assert values["apiserver_watch_cache_events_received_total",] == 1
    assert values["apiserver_watch_cache_events_dispatched_total",] == 1
    assert values["apiserver_watch_cache_initializations_total",] == 1
    assert values["apiserver_watch_cache_resource_version",] == server.store.revision
    assert values["apiserver_resource_size_estimate_bytes",] > 100


async def test_cache_bytes_count_objects_and_recent_changes():
    async with InProcessAPIServer() as server:
        metrics = StorageMetrics(server.store, server.core.resources.registry)

        async def sizes():
            return {
                dict(labels)["cache"]: number
                for family in await metrics.collect()
                if family.name == "steersman_cache_bytes"
                for _, labels, number in family.samples
            }

        await server.request("GET", "/api/v1/configmaps")
        before = await sizes()
        path = "/api/v1/namespaces/default/configmaps"
        value = "x" * 10_000
        await server.request("POST", path, body=b'{"metadata":{"name":"a"},"data":{"k":"%b"}}' % value.encode())
        created = await sizes()
        await server.request("DELETE", f"{path}/a")
        deleted = await sizes()
    assert 10_000 < created["objects"] - before["objects"] < 12_000
    assert 10_000 < created["changes"] - before["changes"] < 12_000
    assert deleted["objects"] == before["objects"]
    assert 20_000 < deleted["changes"] - before["changes"] < 24_000


async def test_cache_bytes_name_each_cache_that_is_bounded_by_bytes():
    async with InProcessAPIServer() as server:
        await server.request("POST", "/api/v1/namespaces/default/configmaps", body=b'{"metadata":{"name":"a"}}')
        families = await StorageMetrics(server.store, server.core.resources.registry).collect()
    names = {dict(labels)["cache"] for f in families if f.name == "steersman_cache_bytes" for _, labels, _ in f.samples}
    assert {"label sets", "field values", "fields of new objects", "pod specs", "regular expressions"} <= names
