from __future__ import annotations

import asyncio
import importlib.util
import json
from uuid import uuid4

import pytest
from scripts.etcd_cluster import EtcdCluster
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.clock import RealClock
from steersman.controlplane import etcd
from steersman.controlplane.etcd import open_etcd_store, servers_by_prefix
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.controlplane.storage_metrics import StorageMetrics
from steersman.storage.store import Put
from steersman.testing.inprocess import InProcessAPIServer


async def test_keys_lie_below_the_prefix_of_the_flag(etcd_url):
    prefix = f"/{uuid4().hex}"
    options = APIServerOptions(etcd_servers=(etcd_url,), etcd_prefix=f"{prefix}/", etcd_compaction_interval_seconds=0)
    store = await open_etcd_store(options, clock=RealClock())
    await store.txn([Put("/registry/pods/ns/a", b"1")])
    assert [kv.key for kv in (await store.range("/registry/pods/")).kvs] == ["/registry/pods/ns/a"]
    raw = await store._client.range(f"{prefix}/pods/ns/a".encode())
    assert [kv.value for kv in raw.kvs] == [b"1"]
    await store.close()


async def test_invalid_server_is_an_option_error():
    with pytest.raises(OptionError, match="--etcd-servers: ftp://a: the scheme must be http, https or unix"):
        await open_etcd_store(APIServerOptions(etcd_servers=("ftp://a",)), clock=RealClock())


async def test_missing_hpack_names_the_extra(monkeypatch):
    monkeypatch.setattr(etcd, "find_spec", lambda _name: None)
    assert importlib.util.find_spec("hpack") is not None
    with pytest.raises(OptionError, match=r"pip install 'steersman\[etcd\]'"):
        await open_etcd_store(APIServerOptions(etcd_servers=("http://a",)), clock=RealClock())


@pytest.mark.parametrize("override", ["events#http://a", "/events", "/events#http://a#b", "a/b/c#http://a"])
def test_override_of_another_form_is_refused(override):
    with pytest.raises(OptionError, match="must be of format: group/resource#servers"):
        servers_by_prefix([override])


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("/unheard#http://a", "no built-in resource"),
        ("apps/pods#http://a", "no built-in resource"),
        ("authorization.k8s.io/subjectaccessreviews#http://a", "no built-in resource"),
        ("/services#http://a", "its transactions write other resources"),
        ("networking.k8s.io/ipaddresses#http://a", "its transactions write other resources"),
    ],
)
def test_override_of_a_resource_that_cannot_be_kept_apart_is_refused(override, reason):
    with pytest.raises(OptionError, match=reason):
        servers_by_prefix([override])


def test_override_names_the_prefix_of_its_resource():
    assert servers_by_prefix(["/events#http://a;http://b", "coordination.k8s.io/leases#http://c"]) == {
        "/registry/events/": ("http://a", "http://b"),
        "/registry/leases/": ("http://c",),
    }


async def test_invalid_server_of_an_override_is_an_option_error(etcd_url):
    options = APIServerOptions(
        etcd_servers=(etcd_url,), etcd_servers_overrides=("/events#ftp://a",), etcd_compaction_interval_seconds=0
    )
    with pytest.raises(OptionError, match="--etcd-servers-overrides: ftp://a: the scheme must be"):
        await open_etcd_store(options, clock=RealClock())


async def test_overridden_resources_are_kept_and_served_from_clusters_of_their_own(etcd_url):
    prefix = f"/{uuid4().hex}"
    with EtcdCluster() as other:
        options = APIServerOptions(
            etcd_servers=(etcd_url,),
            etcd_servers_overrides=(f"/events#{other.urls[0]}", f"coordination.k8s.io/leases#{other.urls[0]}"),
            etcd_prefix=prefix,
            etcd_compaction_interval_seconds=0,
        )
        clock = RealClock()
        store = await open_etcd_store(options, clock=clock)
        async with InProcessAPIServer(
            options=options, store=store, clock=clock, with_bootstrap_controller=False
        ) as server:
            event = b'{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}}'
            bodies = {
                "/api/v1/namespaces/default/events": event,
                "/api/v1/namespaces/default/configmaps": b'{"metadata":{"name":"m"}}',
                "/apis/coordination.k8s.io/v1/namespaces/default/leases": b'{"metadata":{"name":"l"}}',
            }
            for path, body in bodies.items():
                answer = await server.request("POST", path, body=body)
                assert answer.code == 201, answer.body
                created = json.loads(answer.body)["metadata"]
                listed = json.loads((await server.request("GET", path)).body)
                assert [item["metadata"] for item in listed["items"]] == [created]
                watch = f"{path}?watch=true&resourceVersion={int(created['resourceVersion']) - 1}&timeoutSeconds=60"
                async with asyncio.timeout(HANG_SECONDS), server.open("GET", watch) as exchange:
                    async for chunk in exchange:
                        assert json.loads(chunk)["object"]["metadata"] == created
                        break
            path = "/apis/events.k8s.io/v1/namespaces/default/events/e"
            assert (await server.request("GET", path)).code == 200
            families = {
                family.name: family for family in await StorageMetrics(store, server.core.resources.registry).collect()
            }
            assert len(families["apiserver_storage_size_bytes"].samples) == 2
            requests = {
                (dict(labels)["resource"], dict(labels)["operation"])
                for _, labels, _ in families["etcd_requests_total"].samples
            }
            assert requests >= {("events", "create"), ("configmaps", "create"), ("leases", "create")}
            other_keys = other.members[0].control("get", "--prefix", "--keys-only", prefix).split()
            main = await store._default.range("/registry/", keys_only=True)
            assert sorted(other_keys) == [f"{prefix}/events/default/e", f"{prefix}/leases/default/l"]
            assert not [kv.key for kv in main.kvs if kv.key.startswith(("/registry/events/", "/registry/leases/"))]
            other.members[0].kill()
            assert (
                await server.request("POST", "/api/v1/namespaces/default/configmaps", body=b'{"metadata":{"name":"n"}}')
            ).code == 201
            assert (await server.request("GET", "/readyz/etcd")).code == 500
