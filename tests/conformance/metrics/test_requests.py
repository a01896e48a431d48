"""Series that requests change: lists, watches, sizes and terminations."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.conformance.metrics.series import Scrapes, series

from steersman.testing import InProcessAPIServer

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
OF_CONFIG_MAPS = {"group": "", "resource": "configmaps"}


@pytest.fixture
async def server():
    async with InProcessAPIServer() as server:
        yield server


async def create(server: InProcessAPIServer, name: str, **labels: str) -> None:
    body = {"metadata": {"name": name, "labels": labels}}
    assert (await server.request("POST", CONFIG_MAPS, body=json.dumps(body).encode())).code == 201


async def scrapes_of(server: InProcessAPIServer) -> Scrapes:
    scrapes = Scrapes(server)
    await scrapes.begin()
    return scrapes


async def test_list_counts_fetched_and_returned_objects(server):
    for name in ("a", "b", "c"):
        await create(server, name, app="x" if name == "a" else "y")
    scrapes = await scrapes_of(server)
    await server.request("GET", f"{CONFIG_MAPS}?labelSelector=app%3Dx")
    changes = await scrapes.changes("apiserver_cache_list_", "apiserver_storage_list_")
    assert changes == {
        series("apiserver_cache_list_total", index="", **OF_CONFIG_MAPS): 1,
        series("apiserver_cache_list_fetched_objects_total", index="", **OF_CONFIG_MAPS): 3,
        series("apiserver_cache_list_returned_objects_total", **OF_CONFIG_MAPS): 1,
    }


async def test_first_list_reads_the_store(server):
    scrapes = await scrapes_of(server)
    await server.request("GET", "/api/v1/configmaps")
    changes = await scrapes.changes("apiserver_storage_list_total")
    assert changes == {series("apiserver_storage_list_total", **OF_CONFIG_MAPS): 1}


async def test_list_at_a_revision_observes_its_wait(server):
    await create(server, "a")
    scrapes = await scrapes_of(server)
    await server.request("GET", f"{CONFIG_MAPS}?resourceVersion={server.store.revision}")
    changes = await scrapes.changes("apiserver_watch_cache_read_wait_seconds")
    assert changes == {series("apiserver_watch_cache_read_wait_seconds_count", **OF_CONFIG_MAPS): 1}


async def watch(server: InProcessAPIServer, query: str, count: int) -> list[bytes]:
    """Return the first events of a watch."""
    events: list[bytes] = []
    async with server.open("GET", f"{CONFIG_MAPS}?watch=true&{query}") as stream:
        async for piece in stream:
            events += piece.splitlines()
            if len(events) >= count:
                break
    return events


async def test_watch_counts_its_events_by_version(server):
    await create(server, "a")
    await create(server, "b")
    scrapes = await scrapes_of(server)
    events = await watch(server, "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", 3)
    labels = {**OF_CONFIG_MAPS, "version": "v1"}
    changes = await scrapes.changes("apiserver_watch_", "apiserver_init_events_total")
    assert changes[series("apiserver_watch_events_total", **labels)] == 3
    assert changes[series("apiserver_watch_events_sizes_count", **labels)] == 3
    assert changes[series("apiserver_watch_events_sizes_sum", **labels)] == sum(len(event) + 1 for event in events)
    assert changes[series("apiserver_watch_list_duration_seconds_count", scope="namespace", **labels)] == 1
    assert changes[series("apiserver_init_events_total", **OF_CONFIG_MAPS)] == 2


async def test_watches_that_share_events_count_them_each(server):
    await server.request("GET", CONFIG_MAPS)
    revision = server.store.revision
    scrapes = await scrapes_of(server)
    watches = [asyncio.create_task(watch(server, f"resourceVersion={revision}", 1)) for _ in range(3)]
    await create(server, "a")
    await asyncio.gather(*watches)
    changes = await scrapes.changes("apiserver_watch_events_total")
    assert changes == {series("apiserver_watch_events_total", version="v1", **OF_CONFIG_MAPS): 3}


async def test_reads_count_the_size_of_responses_and_writes_that_of_bodies(server):
    await create(server, "a")
    scrapes = await scrapes_of(server)
    answer = await server.request("GET", f"{CONFIG_MAPS}/a")
    missing = await server.request("GET", f"{CONFIG_MAPS}/b")
    body = b'{"data":{"k":"v"}}'
    await server.request(
        "PATCH", f"{CONFIG_MAPS}/a", body=body, headers={"content-type": "application/merge-patch+json"}
    )
    await server.request("DELETE", f"{CONFIG_MAPS}/a")
    changes = await scrapes.changes("apiserver_response_sizes", "apiserver_request_body_size_bytes")
    reads = {"component": "apiserver", "scope": "resource", "subresource": "", "verb": "GET", "version": "v1"}
    ours = {key: value for key, value in changes.items() if ("resource", "configmaps") in key[1]}
    assert missing.code == 404
    assert ours == {
        series("apiserver_response_sizes_count", **OF_CONFIG_MAPS, **reads): 2,
        series("apiserver_response_sizes_sum", **OF_CONFIG_MAPS, **reads): len(answer.body) + len(missing.body),
        series("apiserver_request_body_size_bytes_count", verb="patch", **OF_CONFIG_MAPS): 1,
        series("apiserver_request_body_size_bytes_sum", verb="patch", **OF_CONFIG_MAPS): len(body),
        series("apiserver_request_body_size_bytes_count", verb="delete", **OF_CONFIG_MAPS): 1,
    }


async def test_streamed_list_counts_all_its_pieces(server):
    value = "x" * 100_000
    for name in ("a", "b", "c", "d"):
        body = {"metadata": {"name": name}, "data": {"k": value}}
        await server.request("POST", CONFIG_MAPS, body=json.dumps(body).encode())
    scrapes = await scrapes_of(server)
    listed = await server.request("GET", CONFIG_MAPS)
    labels = {"component": "apiserver", "scope": "namespace", "subresource": "", "verb": "LIST", "version": "v1"}
    changes = await scrapes.changes("apiserver_response_sizes_sum")
    assert changes[series("apiserver_response_sizes_sum", **OF_CONFIG_MAPS, **labels)] == len(listed.body)


async def test_exceeded_deadline_counts_as_termination(server):
    scrapes = await scrapes_of(server)
    # ``wait_until`` of a future revision takes longer than the deadline.
    late = await server.request("GET", f"{CONFIG_MAPS}?resourceVersion={server.store.revision + 100}&timeout=1ms")
    assert late.code == 504
    labels = {"component": "apiserver", "scope": "namespace", "subresource": "", "verb": "LIST", "version": "v1"}
    changes = await scrapes.changes("apiserver_request_terminations_total")
    assert changes == {
        series("apiserver_request_terminations_total", code="504", **OF_CONFIG_MAPS, **labels): 1,
    }
