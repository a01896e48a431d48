"""The server's own loops: what is there at the start, several servers on one store, and the end."""

import asyncio
import logging

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client import tree
from steersman.client.errors import RequestFailed
from steersman.controlplane import running_loops
from steersman.controlplane.bootstrap.authentication_config import CONFIG_MAPS, NAME, AuthenticationInfo
from steersman.controlplane.bootstrap.errors import BootstrapError
from steersman.controlplane.bootstrap.public_address import Place
from steersman.controlplane.core import ServerCore
from steersman.controlplane.options import APIServerOptions
from steersman.storage.memory import MemoryStore
from steersman.testing import InProcessAPIServer

ENDPOINTS, SLICES = tree("v1", "Endpoints"), tree("discovery.k8s.io/v1", "EndpointSlice")
FIRST, SECOND, THIRD = "192.0.2.1", "192.0.2.2", "192.0.2.3"


@pytest.fixture
def clock():
    return FakeClock()


class SharedStore:
    """Several servers have it, so none of them closes it."""

    def __init__(self, store):
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def close(self):
        pass


@pytest.fixture
async def store(clock):
    store = MemoryStore(clock=clock)
    yield SharedStore(store)
    await store.close()


def server(store, clock, address=FIRST, **options):
    told = APIServerOptions(ephemeral=True, advertise_address=address, **options)
    return InProcessAPIServer(options=told, store=store, clock=clock, with_loops=True)


async def published(one):
    """Addresses in the Endpoints, which the slice must tell, too."""
    client = one.core.loops.client
    endpoints = await client.get(ENDPOINTS, "kubernetes", namespace="default")
    sliced = await client.get(SLICES, "kubernetes", namespace="default")
    addresses = [ip["ip"] for subset in endpoints.get("subsets") or () for ip in subset["addresses"]]
    assert [ip for endpoint in sliced["endpoints"] or () for ip in endpoint["addresses"]] == addresses
    return addresses


async def pass_seconds(clock, seconds):
    for _ in range(int(seconds * 10)):
        await clock.advance(0.1)


# -- the start ---------------------------------------------------------------------------------------------------------


async def test_a_server_is_a_cluster_when_it_is_ready(store, clock):
    async with server(store, clock) as one:
        get = one.core.loops.client.get
        service = await get(tree("v1", "Service"), "kubernetes", namespace="default")
        assert (service["spec"]["clusterIP"], service["spec"]["ports"][0]["targetPort"]) == ("10.0.0.1", 6443)
        address = await get(tree("networking.k8s.io/v1", "IPAddress"), "10.0.0.1")
        assert address["spec"]["parentRef"]["name"] == "kubernetes"
        assert await published(one) == [FIRST]
        leases = await one.core.loops.client.list(
            tree("coordination.k8s.io/v1", "Lease"), label_selector="apiserver.kubernetes.io/identity=kube-apiserver"
        )
        assert [lease["metadata"]["namespace"] for lease in leases] == ["kube-system"]
        assert leases[0]["metadata"]["annotations"] == {"kubernetes.io/peer-advertise-address": f"{FIRST}:6443"}


async def test_readiness_tells_of_the_hooks(store, clock):
    async with server(store, clock) as one:
        text = (await one.request("GET", "/readyz?verbose")).body.decode()
        for name in ("bootstrap-controller", "start-service-ip-repair-controllers"):
            assert f"[+]poststarthook/{name} ok" in text


async def test_how_clients_prove_who_they_are_is_published_and_published_again(store, clock):
    core = ServerCore(APIServerOptions(), store, clock=clock, with_loops=True)
    core.loops.authentication = AuthenticationInfo(
        client_ca="-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"
    )
    await core.start()
    found = await core.loops.client.get(
        tree("v1", "ConfigMap"), "extension-apiserver-authentication", namespace="kube-system"
    )
    assert "BEGIN CERTIFICATE" in found["data"]["client-ca-file"]
    await pass_seconds(clock, 1)
    await core.loops.client.delete(CONFIG_MAPS, NAME, namespace="kube-system")
    await pass_seconds(clock, 1)
    assert await core.loops.client.get(CONFIG_MAPS, NAME, namespace="kube-system")
    await core.retire()
    await core.close()


async def test_without_an_address_nothing_is_published(store, clock):
    async with server(store, clock, address="") as one:
        assert (await one.request("GET", "/api/v1/namespaces/default/endpoints/kubernetes")).code == 404


async def test_somebody_else_may_publish_addresses(store, clock):
    async with server(store, clock, endpoint_reconciler_type="none") as one:
        assert (await one.request("GET", "/api/v1/namespaces/default/endpoints/kubernetes")).code == 404


async def test_what_an_unclean_exit_left_is_removed_before_the_server_is_ready(store, clock, caplog):
    crashed = ServerCore(APIServerOptions(), store, clock=clock, with_loops=True)
    crashed.loops.place = Place(FIRST, 1111)
    await crashed.start()
    await crashed.loops.close()
    again = ServerCore(APIServerOptions(), store, clock=clock, with_loops=True)
    again.loops.place = Place(FIRST, 2222)
    with caplog.at_level(logging.WARNING):
        await again.start()
    assert "the last run did not end as it should" in caplog.text
    endpoints = await again.loops.client.get(ENDPOINTS, "kubernetes", namespace="default")
    assert endpoints["subsets"][0]["ports"][0]["port"] == 2222
    for core in (again, crashed):
        await core.loops.close()
        await core.close()


async def test_the_server_gives_up_when_the_first_passes_fail_for_a_minute(store, clock, monkeypatch):
    core = ServerCore(APIServerOptions(), store, clock=clock, with_loops=True)
    began = clock.monotonic()

    async def fail():
        raise RequestFailed("no storage")

    monkeypatch.setattr(core.loops.node_ports, "whole_pass", fail)
    starting = asyncio.create_task(core.start())
    await pass_seconds(clock, 62)
    assert starting.done()
    with pytest.raises(BootstrapError, match="initial IP and Port allocation check: no storage"):
        await starting
    assert clock.monotonic() - began >= 60
    await core.close()


async def test_a_pass_that_hangs_counts_as_failed(store, clock, monkeypatch):
    core = ServerCore(APIServerOptions(), store, clock=clock, with_loops=True)
    monkeypatch.setattr(core.loops.cluster_ips, "whole_pass", asyncio.Event().wait)
    starting = asyncio.create_task(core.start())
    await pass_seconds(clock, 62)
    with pytest.raises(BootstrapError):
        await starting
    await core.close()


# -- several servers ---------------------------------------------------------------------------------------------------


async def test_both_servers_of_one_store_are_published_and_the_one_that_stops_leaves_first(store, clock):
    async with server(store, clock, FIRST) as one, server(store, clock, SECOND) as two:
        await pass_seconds(clock, 1)
        assert await published(one) == await published(two) == [FIRST, SECOND]
        await two.core.retire()
        assert await published(one) == [FIRST]


async def test_servers_that_start_at_the_same_moment_do_not_stop_each_other(store, clock):
    cores = [ServerCore(APIServerOptions(), store, clock=clock, with_loops=True) for _ in range(3)]
    for core, address in zip(cores, (FIRST, SECOND, THIRD), strict=True):
        core.loops.place = Place(address, 6443)
    await asyncio.gather(*(core.start() for core in cores))
    await pass_seconds(clock, 1)
    endpoints = await cores[0].loops.client.get(ENDPOINTS, "kubernetes", namespace="default")
    assert [one["ip"] for one in endpoints["subsets"][0]["addresses"]] == [FIRST, SECOND, THIRD]
    for core in cores:
        await core.retire()
        await core.close()


async def test_what_a_loop_does_again_soon_is_no_reason_not_to_start(store, clock, monkeypatch, caplog):
    core = ServerCore(APIServerOptions(), store, clock=clock, with_loops=True)
    core.loops.place = Place(FIRST, 6443)
    create, failures = core.loops.client.create, iter([True, True])

    async def fail_first(obj, **options):
        if obj["kind"] in ("Service", "Lease") and next(failures, False):
            raise RequestFailed("not now")
        return await create(obj, **options)

    monkeypatch.setattr(core.loops.client, "create", fail_first)
    with caplog.at_level(logging.WARNING):
        await core.start()
    assert "prepare_service is tried again once the server is ready: not now" in caplog.text
    await pass_seconds(clock, 12)
    assert await core.loops.client.get(tree("v1", "Service"), "kubernetes", namespace="default")
    assert await core.loops.client.list(tree("coordination.k8s.io/v1", "Lease"), namespace="kube-system")
    await core.retire()
    await core.close()


async def test_a_server_that_dies_without_a_word_is_gone_within_20_seconds_the_last_one_too(store, clock):
    async with server(store, clock, FIRST) as one, server(store, clock, SECOND) as two:
        await pass_seconds(clock, 31)
        assert await published(one) == [FIRST, SECOND]
        await two.core.loops.close()
        await pass_seconds(clock, 20)
        assert await published(one) == [FIRST]
        await one.core.loops.close()
        await pass_seconds(clock, 1)
        async with server(store, clock, THIRD) as three:
            assert await published(three) == [FIRST, THIRD]
            await pass_seconds(clock, 19)
            assert await published(three) == [THIRD]


async def test_a_server_that_slept_for_long_comes_back(store, clock):
    async with server(store, clock, FIRST) as one:
        await one.core.loops.leases.release(FIRST)
        await pass_seconds(clock, 11)
        assert await published(one) == [FIRST]


async def test_with_a_fixed_count_those_that_died_stay_until_their_place_is_taken(store, clock):
    fixed = {"endpoint_reconciler_type": "master-count", "apiserver_count": 2}
    async with server(store, clock, FIRST, **fixed) as one, server(store, clock, SECOND, **fixed) as two:
        assert await published(one) == [FIRST, SECOND]
        await two.core.loops.close()
        await pass_seconds(clock, 30)
        assert await published(one) == [FIRST, SECOND]
        async with server(store, clock, THIRD, **fixed) as three:
            assert await published(three) == [SECOND, THIRD]


async def test_loops_that_fail_begin_anew(store, clock, monkeypatch, caplog):
    run, failures = running_loops.NamespaceController.run, iter([True])

    async def fail_first(self):
        if next(failures, False):
            raise RuntimeError("a bug")
        await run(self)

    monkeypatch.setattr(running_loops.NamespaceController, "run", fail_first)
    async with server(store, clock) as one:
        await pass_seconds(clock, 3)
        assert "the server's own loops failed, they begin anew" in caplog.text
        client = one.core.loops.client
        await client.delete(tree("v1", "Service"), "kubernetes", namespace="default")
        await pass_seconds(clock, 1)
        assert await client.get(tree("v1", "Service"), "kubernetes", namespace="default")


# -- the end -----------------------------------------------------------------------------------------------------------


async def test_the_end_takes_the_own_address_away_though_it_is_the_last(store, clock):
    async with server(store, clock) as one:
        await one.core.retire()
        assert await published(one) == []


async def test_the_end_does_not_wait_for_a_storage_that_is_gone(store, clock, monkeypatch):
    async with server(store, clock) as one:
        hangs = asyncio.Event()

        async def release(address):
            await hangs.wait()

        monkeypatch.setattr(one.core.loops.leases, "release", release)
        ending = asyncio.create_task(one.core.retire())
        await clock.advance(19)
        assert not ending.done()
        await clock.advance(1)
        await ending
