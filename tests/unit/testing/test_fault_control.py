"""Faults in the request path of an embedded cluster."""

import asyncio

import pytest
from tests.unit.testing.objects import config_map, deployment

from steersman.apimachinery.errors import StatusError
from steersman.client import tree
from steersman.client.errors import ClientError
from steersman.client.sending import RetryPolicy
from steersman.testing.embedded import EmbeddedCluster
from steersman.testing.faults import FaultError, LeftoverFaults

MAPS, PODS, DEPLOYMENTS = tree("v1", "ConfigMap"), tree("v1", "Pod"), tree("apps/v1", "Deployment")


@pytest.fixture
async def server():
    """An API server alone."""
    async with EmbeddedCluster(clock="virtual", nodes=0, controllers=[], scheduler=False, seed=1) as cluster:
        yield cluster


@pytest.fixture
async def cluster():
    async with EmbeddedCluster(clock="virtual", seed=1) as cluster:
        yield cluster


def client_of(cluster):
    """Return a client that does not try again."""
    return cluster.client().with_options(retry=RetryPolicy(retry_failed_connections=False))


async def raw(cluster, method, path, body=b'{"metadata":{"name":"a"}}'):
    return await cluster.core.client.through(cluster.app).request(method, path, body=body)


MAPS_PATH = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(("code", "reason"), [(500, "InternalError"), (409, "Conflict"), (503, "ServiceUnavailable")])
async def test_fault_responds_with_a_status(server, code, reason):
    fault = server.faults.add(verb="create", resource="configmaps", respond=code, times=1)
    answer = await raw(server, "POST", MAPS_PATH)
    assert (answer.code, answer.json()["reason"], answer.json()["code"]) == (code, reason, code)
    assert (await raw(server, "POST", MAPS_PATH)).code == 201
    assert fault.hits == 1


async def test_fault_of_429_has_a_retry_after_header(server):
    server.faults.add(respond=429)
    answer = await raw(server, "GET", MAPS_PATH, None)
    assert (answer.code, answer.header("retry-after")) == (429, "1")


async def test_reset_request_has_no_effect(server):
    server.faults.add(verb="create", respond="reset", times=1)
    with pytest.raises(ConnectionError, match="reset by peer"):
        await raw(server, "POST", MAPS_PATH)
    assert (await raw(server, "GET", f"{MAPS_PATH}/a", None)).code == 404


async def test_request_whose_answer_is_lost_was_committed(server):
    server.faults.add(verb="create", respond="lose-answer", times=1)
    with pytest.raises(ConnectionError, match="response was lost"):
        await raw(server, "POST", MAPS_PATH)
    assert (await raw(server, "GET", f"{MAPS_PATH}/a", None)).code == 200


async def test_timeout_leaves_a_request_without_response_until_the_client_leaves(server):
    server.faults.add(verb="create", respond="timeout")
    request = asyncio.ensure_future(client_of(server).with_options(deadline_seconds=5).create(config_map("a")))
    await server.clock.advance(4)
    assert not request.done()
    await server.clock.advance(10)
    with pytest.raises((ClientError, TimeoutError)):
        await request


async def test_delayed_request_is_served_later(server):
    server.faults.delay(3, verb="create")
    request = asyncio.ensure_future(server.client().create(config_map("a")))
    await server.clock.advance(2)
    assert not request.done()
    await server.clock.advance(2)
    assert (await request)["metadata"]["name"] == "a"


async def test_client_may_leave_a_delayed_request(server):
    server.faults.delay(3000, verb="create")
    request = asyncio.ensure_future(server.client().create(config_map("a")))
    await server.clock.advance(1)
    request.cancel()
    await server.settle()
    assert request.cancelled()
    assert not server.app.in_flight


async def test_controllers_survive_failed_requests(cluster):
    fault = cluster.faults.add(
        verb="create", resource="pods", user_agent="kube-controller-manager", respond=500, times=3
    )
    await cluster.client().create(deployment("web"))
    await cluster.wait_for("deployment/web", "condition=Available")
    assert fault.hits == 3
    cluster.faults.check_leftover()


async def test_controllers_survive_lost_answers_without_surplus_pods(cluster):
    cluster.faults.add(verb="create", resource="pods", respond="lose-answer", times=2)
    await cluster.client().create(deployment("web", replicas=3))
    await cluster.wait_for("deployment/web", "condition=Available")
    await cluster.clock.advance(minutes=10)
    assert len(await cluster.client().list(PODS)) == 3


async def test_cut_watches_are_resumed(cluster):
    assert cluster.faults.cut_watches(resource="deployments") >= 1
    await cluster.client().create(deployment("web"))
    await cluster.wait_for("deployment/web", "condition=Available")


async def test_expired_watches_end_with_410_and_are_listed_again(cluster):
    async with cluster.core.client.through(cluster.app).open("GET", "/api/v1/pods?watch=1") as watch:
        assert await cluster.faults.expire_watches(resource="pods") > 1
        assert b'"code":410' in await anext(aiter(watch))
    before = len(cluster.requests(verb="list", resource="pods"))
    await cluster.client().create(deployment("web"))
    await cluster.wait_for("deployment/web", "condition=Available")
    assert len(cluster.requests(verb="list", resource="pods")) > before


async def test_partitioned_component_works_again_when_healed(cluster):
    partition = cluster.faults.partition("controller-manager")
    await cluster.client().create(deployment("web"))
    await cluster.clock.advance(60)
    assert await cluster.client().list(PODS) == []
    assert partition.hits > 0
    partition.heal()
    await cluster.wait_for("deployment/web", "condition=Available")


@pytest.fixture
async def stale(server):
    """A server whose watch cache lags 30 seconds behind: it does not know the ConfigMap ``new``, and ``old`` has no data."""
    client = server.client()
    await client.create(config_map("old"))
    await server.clock.advance(60)
    await client.create(config_map("new"))
    await client.apply({**config_map("old"), "data": {"a": "b"}}, field_manager="t", force=True)
    server.faults.stale_reads(30, resource="configmaps")
    return server


async def names_of(server, query=""):
    answer = await raw(server, "GET", MAPS_PATH + query, None)
    return [item["metadata"]["name"] for item in answer.json()["items"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["new", "old"]),
        ("?resourceVersion=0", ["old"]),
        ("?resourceVersion=0&limit=1", ["old"]),
        ("?resourceVersion=1&resourceVersionMatch=NotOlderThan", ["old"]),
    ],
)
async def test_stale_list_is_from_the_cache_only_with_a_resource_version(stale, query, expected):
    assert await names_of(stale, query) == expected
    stale.faults.clear()
    assert await names_of(stale, query) == ["new", "old"]


async def test_stale_get_is_from_the_cache_only_with_a_resource_version(stale):
    fresh = await raw(stale, "GET", f"{MAPS_PATH}/old", None)
    assert fresh.json()["data"] == {"a": "b"}
    earlier = (await raw(stale, "GET", f"{MAPS_PATH}/old?resourceVersion=0", None)).json()
    assert (earlier["kind"], earlier.get("data")) == ("ConfigMap", None)
    assert int(earlier["metadata"]["resourceVersion"]) < int(fresh.json()["metadata"]["resourceVersion"])
    assert (await raw(stale, "GET", f"{MAPS_PATH}/new", None)).code == 200
    assert (await raw(stale, "GET", f"{MAPS_PATH}/new?resourceVersion=0", None)).code == 404


async def test_stale_read_fails_for_a_version_that_the_cache_lacks(stale):
    version = (await raw(stale, "GET", f"{MAPS_PATH}/new", None)).json()["metadata"]["resourceVersion"]
    request = asyncio.ensure_future(raw(stale, "GET", f"{MAPS_PATH}?resourceVersion={version}", None))
    await stale.clock.advance(4)
    answer = await request
    assert (answer.code, answer.json()["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")


async def test_stale_read_waits_for_a_version_that_the_cache_has_soon(stale):
    version = (await raw(stale, "GET", f"{MAPS_PATH}/new", None)).json()["metadata"]["resourceVersion"]
    await stale.clock.advance(28)
    request = asyncio.ensure_future(names_of(stale, f"?resourceVersion={version}"))
    await stale.clock.advance(1)
    assert not request.done()
    await stale.clock.advance(2)
    assert await request == ["new", "old"]


async def test_events_of_stale_watches_are_late_and_in_order(server):
    names = []

    async def follow():
        async with server.client().watch(tree("v1", "ConfigMap"), namespace="default", bookmarks=False) as events:
            async for event in events:
                names.append(event.object["metadata"]["name"])  # noqa: PERF401 — the test reads it meanwhile

    watch = asyncio.ensure_future(follow())
    await server.clock.advance(0)
    fault = server.faults.stale_reads(30, verb="watch", resource="configmaps")
    await server.client().create(config_map("a"))
    await server.clock.advance(10)
    await server.client().create(config_map("b"))
    await server.clock.advance(19)
    assert names == []
    await server.clock.advance(2)
    assert names == ["a"]
    await server.clock.advance(10)
    assert (names, fault.hits) == (["a", "b"], 2)
    watch.cancel()
    await asyncio.wait([watch])


async def test_leftover_fault_is_an_error(server):
    server.faults.add(respond=500, times=1, verb="delete")
    with pytest.raises(LeftoverFaults, match="respond 500 to delete"):
        server.faults.check_leftover()


async def test_unknown_field_of_a_watch_is_an_error(server):
    with pytest.raises(FaultError, match='unknown field "kind" of a watch'):
        server.faults.cut_watches(kind="Pod")


async def test_crash_breaks_requests_in_flight(server):
    server.faults.delay(30, verb="create")
    request = asyncio.ensure_future(client_of(server).create(config_map("a")))
    await server.clock.advance(1)
    await server.crash()
    with pytest.raises((ClientError, StatusError)):
        await request
