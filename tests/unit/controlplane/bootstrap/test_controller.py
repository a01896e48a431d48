"""Bootstrap controller: start, several servers on one store, shutdown."""

import asyncio
import logging

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client import tree
from steersman.client.errors import RequestFailed
from steersman.controlplane.bootstrap import loops
from steersman.controlplane.bootstrap.authentication_config import CONFIG_MAPS, NAME, AuthenticationInfo
from steersman.controlplane.bootstrap.errors import BootstrapError
from steersman.controlplane.bootstrap.identity import LEASES
from steersman.controlplane.bootstrap.public_address import PublicEndpoint
from steersman.controlplane.core import ServerCore
from steersman.controlplane.options import APIServerOptions
from steersman.storage.memory import MemoryStore
from steersman.storage.store import StoreError
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
    configured = APIServerOptions(ephemeral=True, advertise_address=address, **options)
    return InProcessAPIServer(options=configured, store=store, clock=clock, with_bootstrap_controller=True)


async def published(one):
    """Return the addresses in the Endpoints, after checking that the slice has the same."""
    client = one.core.bootstrap.client
    endpoints = await client.get(ENDPOINTS, "kubernetes", namespace="default")
    sliced = await client.get(SLICES, "kubernetes", namespace="default")
    addresses = [ip["ip"] for subset in endpoints.get("subsets") or () for ip in subset["addresses"]]
    assert [ip for endpoint in sliced["endpoints"] or () for ip in endpoint["addresses"]] == addresses
    return addresses


async def pass_seconds(clock, seconds):
    for _ in range(int(seconds * 10)):
        await clock.advance(0.1)


# -- the start ---------------------------------------------------------------------------------------------------------


async def test_start_publishes_service_endpoints_and_identity(store, clock):
    async with server(store, clock) as one:
        get = one.core.bootstrap.client.get
        service = await get(tree("v1", "Service"), "kubernetes", namespace="default")
        assert (service["spec"]["clusterIP"], service["spec"]["ports"][0]["targetPort"]) == ("10.0.0.1", 6443)
        address = await get(tree("networking.k8s.io/v1", "IPAddress"), "10.0.0.1")
        assert address["spec"]["parentRef"]["name"] == "kubernetes"
        assert await published(one) == [FIRST]
        leases = await one.core.bootstrap.client.list(
            tree("coordination.k8s.io/v1", "Lease"), label_selector="apiserver.kubernetes.io/identity=kube-apiserver"
        )
        assert [lease["metadata"]["namespace"] for lease in leases] == ["kube-system"]
        assert leases[0]["metadata"]["annotations"] == {"kubernetes.io/peer-advertise-address": f"{FIRST}:6443"}


async def test_second_start_of_the_loops_has_no_effect(store, clock):
    async with server(store, clock) as one:
        bootstrap, tasks = one.core.bootstrap, bootstrap_tasks()
        await bootstrap.client.delete(tree("v1", "Endpoints"), "kubernetes", namespace="default")
        revision = store.revision
        await bootstrap.start_loops()
        assert store.revision == revision
        assert bootstrap_tasks() == tasks


def bootstrap_tasks():
    return sorted(name for task in asyncio.all_tasks() if (name := task.get_name()).startswith("bootstrap controller"))


async def test_readyz_lists_the_hooks(store, clock):
    async with server(store, clock) as one:
        text = (await one.request("GET", "/readyz?verbose")).body.decode()
        for name in ("bootstrap-controller", "start-service-ip-repair-controllers"):
            assert f"[+]poststarthook/{name} ok" in text


async def test_authentication_config_map_is_created_and_recreated(store, clock):
    core = ServerCore(APIServerOptions(), store, clock=clock, with_bootstrap_controller=True)
    core.bootstrap.authentication = AuthenticationInfo(
        client_ca="-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"
    )
    await core.start()
    obj = await core.bootstrap.client.get(
        tree("v1", "ConfigMap"), "extension-apiserver-authentication", namespace="kube-system"
    )
    assert "BEGIN CERTIFICATE" in obj["data"]["client-ca-file"]
    await pass_seconds(clock, 1)
    await core.bootstrap.client.delete(CONFIG_MAPS, NAME, namespace="kube-system")
    await pass_seconds(clock, 1)
    assert await core.bootstrap.client.get(CONFIG_MAPS, NAME, namespace="kube-system")
    await core.run_pre_shutdown_hooks()
    await core.close()


async def test_moved_endpoint_is_published_in_place_of_the_first_and_repaired(store, clock):
    async with server(store, clock) as one:
        bootstrap = one.core.bootstrap
        await bootstrap.move_endpoint(PublicEndpoint(FIRST, 7443))
        await bootstrap.client.delete(tree("v1", "Service"), "kubernetes", namespace="default")
        await pass_seconds(clock, 1)
        service = await bootstrap.client.get(tree("v1", "Service"), "kubernetes", namespace="default")
        assert service["spec"]["ports"][0]["targetPort"] == 7443
        endpoints = await bootstrap.client.get(ENDPOINTS, "kubernetes", namespace="default")
        assert endpoints["subsets"] == [
            {"addresses": [{"ip": FIRST}], "ports": [{"name": "https", "port": 7443, "protocol": "TCP"}]}
        ]
        assert await published(one) == [FIRST]
        await pass_seconds(clock, 11)  # a renewal
        lease = await bootstrap.client.get(LEASES, bootstrap.identity.id, namespace="kube-system")
        assert lease["metadata"]["annotations"]["kubernetes.io/peer-advertise-address"] == f"{FIRST}:7443"


async def test_server_without_address_publishes_no_endpoint(store, clock):
    async with server(store, clock, address="") as one:
        assert (await one.request("GET", "/api/v1/namespaces/default/endpoints/kubernetes")).code == 404


async def test_reconciler_none_publishes_no_endpoint(store, clock):
    async with server(store, clock, endpoint_reconciler_type="none") as one:
        assert (await one.request("GET", "/api/v1/namespaces/default/endpoints/kubernetes")).code == 404


async def test_start_removes_the_endpoint_of_a_crashed_run(store, clock, caplog):
    crashed = ServerCore(APIServerOptions(), store, clock=clock, with_bootstrap_controller=True)
    crashed.bootstrap.public_endpoint = PublicEndpoint(FIRST, 1111)
    await crashed.start()
    await crashed.bootstrap.close()
    again = ServerCore(APIServerOptions(), store, clock=clock, with_bootstrap_controller=True)
    again.bootstrap.public_endpoint = PublicEndpoint(FIRST, 2222)
    with caplog.at_level(logging.WARNING):
        await again.start()
    assert "the last run did not stop orderly" in caplog.text
    endpoints = await again.bootstrap.client.get(ENDPOINTS, "kubernetes", namespace="default")
    assert endpoints["subsets"][0]["ports"][0]["port"] == 2222
    for core in (again, crashed):
        await core.bootstrap.close()
        await core.close()


async def test_start_fails_when_the_first_repair_fails_for_a_minute(store, clock, monkeypatch):
    core = ServerCore(APIServerOptions(), store, clock=clock, with_bootstrap_controller=True)
    began = clock.monotonic()

    async def fail():
        raise RequestFailed("no storage")

    monkeypatch.setattr(core.bootstrap.node_ports, "whole_pass", fail)
    starting = asyncio.create_task(core.start())
    await pass_seconds(clock, 62)
    assert starting.done()
    with pytest.raises(BootstrapError, match="initial IP and Port allocation check: no storage"):
        await starting
    assert clock.monotonic() - began >= 60
    await core.close()


async def test_start_fails_when_the_first_repair_hangs(store, clock, monkeypatch):
    core = ServerCore(APIServerOptions(), store, clock=clock, with_bootstrap_controller=True)
    monkeypatch.setattr(core.bootstrap.cluster_ips, "whole_pass", asyncio.Event().wait)
    starting = asyncio.create_task(core.start())
    await pass_seconds(clock, 62)
    with pytest.raises(BootstrapError):
        await starting
    await core.close()


async def test_first_repairs_run_concurrently(store, clock, monkeypatch):
    core, barrier = (
        ServerCore(APIServerOptions(), store, clock=clock, with_bootstrap_controller=True),
        asyncio.Barrier(2),
    )
    for repairer in (core.bootstrap.cluster_ips, core.bootstrap.node_ports):
        monkeypatch.setattr(repairer, "whole_pass", barrier.wait)
    await core.start()
    await core.close()


async def test_readyz_fails_until_the_first_repair_succeeds(store, clock, monkeypatch):
    core = ServerCore(APIServerOptions(), store, clock=clock, with_bootstrap_controller=True)
    started, finish = asyncio.Event(), asyncio.Event()

    async def repair():
        started.set()
        await finish.wait()

    monkeypatch.setattr(core.bootstrap.node_ports, "whole_pass", repair)
    starting = asyncio.create_task(core.start())
    await started.wait()
    check = "/readyz/poststarthook/start-service-ip-repair-controllers"
    assert (await core.client.request("GET", check)).code == 500
    assert (await core.client.request("GET", "/readyz")).code == 500
    finish.set()
    await starting
    assert (await core.client.request("GET", "/readyz")).code == 200
    await core.close()


async def test_endpoint_is_published_after_the_hooks(store, clock, monkeypatch):
    core = ServerCore(APIServerOptions(), store, clock=clock, with_bootstrap_controller=True)
    core.bootstrap.public_endpoint = PublicEndpoint(FIRST, 6443)
    codes, hold = [], core.bootstrap.leases.hold

    async def record(address):
        codes.append((await core.client.request("GET", "/readyz")).code)
        await hold(address)

    monkeypatch.setattr(core.bootstrap.leases, "hold", record)
    await core.start()
    assert codes == [200]
    await core.close()


async def test_start_succeeds_when_the_old_endpoint_cannot_be_removed(store, clock, monkeypatch, caplog):
    core = ServerCore(APIServerOptions(), store, clock=clock, with_bootstrap_controller=True)
    core.bootstrap.public_endpoint = PublicEndpoint(FIRST, 6443)

    async def fail(address):
        raise StoreError("not now")

    monkeypatch.setattr(core.bootstrap.leases, "release", fail)
    with caplog.at_level(logging.WARNING):
        await core.start()
    assert "cannot remove our address from the Endpoints kubernetes: not now" in caplog.text
    await core.close()


async def test_refused_system_namespace_is_logged_and_retried(store, clock, caplog):
    names = ("kube-system", "kube-public", "default", "A_b", "mine")
    with caplog.at_level(logging.ERROR):
        async with server(store, clock, system_namespaces=names) as one:
            assert (await one.request("GET", "/readyz")).code == 200
            assert (await one.request("GET", "/api/v1/namespaces/mine")).code == 200
            assert caplog.text.count("unable to create required kubernetes system namespace A_b: ") == 1
            caplog.clear()
            await pass_seconds(clock, 4)
            assert caplog.text.count("unable to create required kubernetes system namespace A_b: ") >= 2


# -- several servers ---------------------------------------------------------------------------------------------------


async def test_endpoints_list_all_servers_of_a_store_but_stopped_ones(store, clock):
    async with server(store, clock, FIRST) as one, server(store, clock, SECOND) as two:
        await pass_seconds(clock, 1)
        assert await published(one) == await published(two) == [FIRST, SECOND]
        await two.core.run_pre_shutdown_hooks()
        assert await published(one) == [FIRST]


async def test_servers_can_start_at_the_same_time(store, clock):
    cores = [ServerCore(APIServerOptions(), store, clock=clock, with_bootstrap_controller=True) for _ in range(3)]
    for core, address in zip(cores, (FIRST, SECOND, THIRD), strict=True):
        core.bootstrap.public_endpoint = PublicEndpoint(address, 6443)
    await asyncio.gather(*(core.start() for core in cores))
    await pass_seconds(clock, 1)
    endpoints = await cores[0].bootstrap.client.get(ENDPOINTS, "kubernetes", namespace="default")
    assert [one["ip"] for one in endpoints["subsets"][0]["addresses"]] == [FIRST, SECOND, THIRD]
    for core in cores:
        await core.run_pre_shutdown_hooks()
        await core.close()


async def test_start_succeeds_when_service_or_identity_fail_at_first(store, clock, monkeypatch, caplog):
    core = ServerCore(APIServerOptions(), store, clock=clock, with_bootstrap_controller=True)
    core.bootstrap.public_endpoint = PublicEndpoint(FIRST, 6443)
    create, failures = core.bootstrap.client.create, iter([True, True])

    async def fail_first(obj, **options):
        if obj["kind"] in ("Service", "Lease") and next(failures, False):
            raise RequestFailed("not now")
        return await create(obj, **options)

    monkeypatch.setattr(core.bootstrap.client, "create", fail_first)
    with caplog.at_level(logging.WARNING):
        await core.start()
    assert "prepare_service is tried again once the server is ready: not now" in caplog.text
    await pass_seconds(clock, 12)
    assert await core.bootstrap.client.get(tree("v1", "Service"), "kubernetes", namespace="default")
    assert await core.bootstrap.client.list(tree("coordination.k8s.io/v1", "Lease"), namespace="kube-system")
    await core.run_pre_shutdown_hooks()
    await core.close()


async def test_endpoint_of_a_crashed_server_is_withdrawn_within_20_seconds(store, clock):
    async with server(store, clock, FIRST) as one, server(store, clock, SECOND) as two:
        await pass_seconds(clock, 31)
        assert await published(one) == [FIRST, SECOND]
        await two.core.bootstrap.close()
        await pass_seconds(clock, 20)
        assert await published(one) == [FIRST]
        await one.core.bootstrap.close()
        await pass_seconds(clock, 1)
        async with server(store, clock, THIRD) as three:
            assert await published(three) == [FIRST, THIRD]
            await pass_seconds(clock, 19)
            assert await published(three) == [THIRD]


async def test_endpoint_returns_after_its_lease_expired(store, clock):
    async with server(store, clock, FIRST) as one:
        await one.core.bootstrap.leases.release(FIRST)
        await pass_seconds(clock, 11)
        assert await published(one) == [FIRST]


async def test_master_count_replaces_crashed_servers_only(store, clock):
    fixed = {"endpoint_reconciler_type": "master-count", "apiserver_count": 2}
    async with server(store, clock, FIRST, **fixed) as one, server(store, clock, SECOND, **fixed) as two:
        assert await published(one) == [FIRST, SECOND]
        await two.core.bootstrap.close()
        await pass_seconds(clock, 30)
        assert await published(one) == [FIRST, SECOND]
        async with server(store, clock, THIRD, **fixed) as three:
            assert await published(three) == [SECOND, THIRD]


async def test_loops_restart_when_one_fails(store, clock, monkeypatch, caplog):
    run, failures = loops.NamespaceController.run, iter([True])

    async def fail_first(self):
        if next(failures, False):
            raise RuntimeError("a bug")
        await run(self)

    monkeypatch.setattr(loops.NamespaceController, "run", fail_first)
    async with server(store, clock) as one:
        await pass_seconds(clock, 3)
        assert "the loops of the bootstrap controller failed and are restarted" in caplog.text
        client = one.core.bootstrap.client
        await client.delete(tree("v1", "Service"), "kubernetes", namespace="default")
        await pass_seconds(clock, 1)
        assert await client.get(tree("v1", "Service"), "kubernetes", namespace="default")


# -- shutdown -----------------------------------------------------------------------------------------------------------


async def test_shutdown_fails_readyz_then_withdraws_the_endpoint_and_serves_during_the_delay(store, clock):
    async with server(store, clock, shutdown_delay_seconds=10) as one:
        one.core.begin_shutdown()
        answer = await one.request("GET", "/readyz")
        assert (answer.code, "[-]shutdown failed" in answer.body.decode()) == (500, True)
        assert await published(one) == [FIRST]
        hooks = asyncio.create_task(one.core.run_pre_shutdown_hooks())
        await pass_seconds(clock, 9)
        assert (await published(one), hooks.done()) == ([], False)
        body = b'{"metadata": {"name": "a"}}'
        assert (await one.request("POST", "/api/v1/namespaces/default/configmaps", body=body)).code == 201
        await pass_seconds(clock, 2)
        assert hooks.done()
        await hooks


async def test_stop_withdraws_the_endpoint_of_the_last_server(store, clock):
    async with server(store, clock) as one:
        await one.core.run_pre_shutdown_hooks()
        assert await published(one) == []


async def test_stop_logs_when_the_endpoint_cannot_be_removed(store, clock, monkeypatch, caplog):
    async with server(store, clock) as one:

        async def fail(address):
            raise StoreError("no storage")

        monkeypatch.setattr(one.core.bootstrap.leases, "release", fail)
        with caplog.at_level(logging.WARNING):
            await one.core.run_pre_shutdown_hooks()
    assert "cannot remove our address from the Endpoints kubernetes: no storage" in caplog.text


async def test_stop_gives_up_after_20_seconds_when_the_store_does_not_answer(store, clock, monkeypatch):
    async with server(store, clock) as one:
        hangs = asyncio.Event()

        async def release(address):
            await hangs.wait()

        monkeypatch.setattr(one.core.bootstrap.leases, "release", release)
        ending = asyncio.create_task(one.core.run_pre_shutdown_hooks())
        await clock.advance(19)
        assert not ending.done()
        await clock.advance(1)
        await ending
