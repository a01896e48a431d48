"""Three API servers on one etcd: what one has answered, the others know."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from uuid import uuid4

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.clock import RealClock
from steersman.controlplane.options import APIServerOptions
from steersman.storage.etcd.store import EtcdStore
from steersman.testing.inprocess import InProcessAPIServer

MAPS = "/api/v1/namespaces/default/configmaps"


class Servers:
    """Servers with stores of their own on one member."""

    def __init__(self, etcd_url):
        self._etcd_url = etcd_url
        self._prefix = f"/{uuid4().hex}"
        self._stack = AsyncExitStack()
        self.running = []

    async def start(self, number):
        """Start the server with that number in its address; ``number`` 0: without bootstrap controller."""
        clock = RealClock()
        store = await EtcdStore.open(
            [self._etcd_url], clock=clock, root="/registry", prefix=self._prefix, compaction_interval_seconds=0
        )
        options = APIServerOptions(ephemeral=True, advertise_address=f"192.0.2.{number}" if number else "")
        server = InProcessAPIServer(options=options, store=store, clock=clock, with_bootstrap_controller=bool(number))
        await self._stack.enter_async_context(server)
        self.running.append(server)
        return server

    async def stop(self):
        await self._stack.aclose()


@pytest.fixture
async def servers(etcd_url):
    servers = Servers(etcd_url)
    yield servers
    await servers.stop()


@pytest.fixture
async def three(servers):
    """Three servers; one of them has made what every cluster has."""
    await servers.start(1)
    for _ in range(2):
        await servers.start(0)
    return servers.running


async def call(server, method, path, body=None, *, content_type="application/json"):
    raw = None if body is None else json.dumps(body).encode()
    answer = await server.request(method, path, body=raw, headers={"content-type": content_type})
    is_json = answer.header("content-type").startswith("application/json")
    return answer.code, json.loads(answer.body) if is_json else answer.body


async def until(check):
    """Repeat a check until it returns something true."""
    async with asyncio.timeout(HANG_SECONDS):
        while not (outcome := await check()):
            await RealClock().sleep(0.02)
        return outcome


def config_map(name, **data):
    return {"metadata": {"name": name}, "data": data}


async def test_read_without_version_returns_writes_acknowledged_by_another_server(three):
    first, second, third = three
    for n in range(20):
        status, created = await call(first, "POST", MAPS, config_map(f"m{n}"))
        assert status == 201
        assert await call(second, "GET", f"{MAPS}/m{n}") == (200, created)
        status, listed = await call(third, "GET", MAPS)
        assert f"m{n}" in [item["metadata"]["name"] for item in listed["items"]]
        assert int(listed["metadata"]["resourceVersion"]) >= int(created["metadata"]["resourceVersion"])
        assert (await call(second, "DELETE", f"{MAPS}/m{n}"))[0] == 200
        assert (await call(first, "GET", f"{MAPS}/m{n}"))[0] == 404


async def test_version_of_another_server_is_waited_for(three):
    first, second, _ = three
    for n in range(20):
        _, created = await call(first, "POST", MAPS, config_map(f"m{n}"))
        version = created["metadata"]["resourceVersion"]
        assert await call(second, "GET", f"{MAPS}/m{n}?resourceVersion={version}") == (200, created)
        _, listed = await call(second, "GET", f"{MAPS}?resourceVersion={version}&resourceVersionMatch=NotOlderThan")
        assert f"m{n}" in [item["metadata"]["name"] for item in listed["items"]]


async def test_version_beyond_the_store_is_too_large(three):
    status, answer = await call(three[1], "GET", f"{MAPS}/none?resourceVersion=999999999")
    assert (status, answer["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")


async def test_no_update_is_lost_between_servers(three):
    await call(three[0], "POST", MAPS, config_map("counter", n="0"))

    async def count(server, times):
        done = 0
        while done < times:
            _, current = await call(server, "GET", f"{MAPS}/counter")
            current["data"]["n"] = str(int(current["data"]["n"]) + 1)
            status, _ = await call(server, "PUT", f"{MAPS}/counter", current)
            assert status in (200, 409)
            done += status == 200

    await asyncio.gather(*(count(server, 15) for server in three))
    _, counter = await call(three[1], "GET", f"{MAPS}/counter")
    assert counter["data"]["n"] == "45"


async def test_patches_without_version_all_apply(three):
    await call(three[0], "POST", MAPS, config_map("shared"))

    async def patch(server, number):
        patch = {"data": {f"k{number}": "v"}}
        status, _ = await call(server, "PATCH", f"{MAPS}/shared", patch, content_type="application/merge-patch+json")
        assert status == 200

    await asyncio.gather(*(patch(three[n % 3], n) for n in range(30)))
    _, shared = await call(three[0], "GET", f"{MAPS}/shared")
    assert len(shared["data"]) == 30


async def test_update_without_change_is_not_answered_from_an_old_state(three):
    first, second, _ = three
    _, old = await call(first, "POST", MAPS, config_map("m", k="old"))
    del old["metadata"]["resourceVersion"]
    for n in range(20):
        _, changed = await call(first, "PUT", f"{MAPS}/m", {**old, "data": {"k": str(n)}})
        status, answer = await call(second, "PUT", f"{MAPS}/m", {**old, "data": {"k": "old"}})
        assert (status, answer["data"]) == (200, {"k": "old"})
        assert int(answer["metadata"]["resourceVersion"]) > int(changed["metadata"]["resourceVersion"])


async def test_watch_delivers_events_of_all_servers_once_and_in_order(three):
    _, listed = await call(three[2], "GET", MAPS)
    version = listed["metadata"]["resourceVersion"]
    target = f"{MAPS}?watch=true&resourceVersion={version}&timeoutSeconds={HANG_SECONDS}"
    events = []

    async def write(server, name):
        for n in range(10):
            assert (await call(server, "POST", MAPS, config_map(f"{name}-{n}")))[0] == 201

    async with asyncio.timeout(HANG_SECONDS), three[2].open("GET", target) as exchange:
        writing = asyncio.gather(*(write(server, f"s{n}") for n, server in enumerate(three)))
        buffered = b""
        async for chunk in exchange:
            buffered += chunk
            *lines, buffered = buffered.split(b"\n")
            events += [json.loads(line) for line in lines]
            if len(events) == 30:
                break
        await writing
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    assert {event["object"]["metadata"]["name"] for event in events} == {
        f"s{s}-{n}" for s in range(3) for n in range(10)
    }


async def test_service_addresses_and_node_ports_are_given_once(three):
    async def create(server, name):
        service = {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
        status, answer = await call(server, "POST", "/api/v1/namespaces/default/services", service)
        assert status == 201, answer
        return answer["spec"]["clusterIP"], answer["spec"]["ports"][0]["nodePort"]

    services = await asyncio.gather(*(create(three[n % 3], f"s{n}") for n in range(24)))
    assert len({ip for ip, _ in services}) == len({port for _, port in services}) == 24


async def test_custom_resource_defined_at_one_server_is_served_by_the_others(three):
    names = {"plural": "ships", "singular": "ship", "kind": "Ship", "listKind": "ShipList"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    definition = {
        "metadata": {"name": "ships.sea.example.com"},
        "spec": {
            "group": "sea.example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    status, _ = await call(three[0], "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    assert status == 201
    path = "/apis/sea.example.com/v1/namespaces/default/ships"
    ship = {"apiVersion": "sea.example.com/v1", "kind": "Ship", "metadata": {"name": "argo"}}

    async def created():
        return (await call(three[1], "POST", path, ship))[0] in (201, 409)

    async def is_served():
        return (await call(three[2], "GET", f"{path}/argo"))[0] == 200

    await until(created)
    await until(is_served)


async def test_role_bound_at_one_server_applies_at_the_others(three):
    binding = {
        "metadata": {"name": "admins"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"}],
    }
    status, _ = await call(three[0], "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    assert status == 201
    review = {
        "spec": {
            "user": "jane",
            "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"},
        }
    }

    async def allowed():
        _, answer = await call(three[1], "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return answer["status"].get("allowed")

    await until(allowed)


async def test_object_larger_than_a_request_of_etcd_is_refused_with_its_error(three):
    event = {
        "metadata": {"name": "big"},
        "involvedObject": {"namespace": "default"},
        "related": {"fieldPath": "z" * 1_700_000},
    }
    status, answer = await call(three[0], "POST", "/api/v1/namespaces/default/events", event)
    assert (status, answer["message"]) == (500, "etcdserver: request is too large")


async def test_kubernetes_endpoints_follow_servers_as_they_start_and_stop(servers):
    await servers.start(1)
    second = await servers.start(2)
    first = servers.running[0]

    async def addresses():
        _, endpoints = await call(first, "GET", "/api/v1/namespaces/default/endpoints/kubernetes")
        return {ip["ip"] for subset in endpoints.get("subsets") or () for ip in subset["addresses"]}

    async def both():
        return await addresses() == {"192.0.2.1", "192.0.2.2"}

    async def one():
        return await addresses() == {"192.0.2.1"}

    await until(both)
    second.core.begin_shutdown()
    await second.core.run_pre_shutdown_hooks()
    await until(one)


async def test_requests_to_etcd_are_counted_by_operation_and_resource(three):
    for method, path, body in (("POST", MAPS, config_map("m")), ("DELETE", f"{MAPS}/m", None)):
        assert (await call(three[0], method, path, body))[0] in (200, 201)
    answer = await three[0].request("GET", "/metrics")
    samples = dict(line.rsplit(" ", 1) for line in answer.body.decode().splitlines() if not line.startswith("#"))
    for operation in ("create", "delete", "list"):
        labels = f'operation="{operation}",group="",resource="configmaps"'
        count = int(samples[f"etcd_requests_total{{{labels}}}"])
        assert count >= 1
        assert samples[f'etcd_request_duration_seconds_bucket{{{labels},le="+Inf"}}'] == str(count)
