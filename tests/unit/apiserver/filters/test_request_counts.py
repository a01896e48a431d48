"""Audit IDs and request counters."""

import contextlib

from steersman.apimachinery.errors import StatusError, bad_request
from steersman.apiserver.filters.max_in_flight import InFlight, too_many_requests
from steersman.apiserver.filters.request_counts import AuditIds, count_requests
from steersman.apiserver.filters.request_info import parse
from steersman.apiserver.filters.request_metrics import RequestMetrics
from steersman.apiserver.http import Request, Response
from steersman.apiserver.request import SERVER_USER, UserInfo


def request(method: str, path: str, query: bytes = b"") -> Request:
    new_request = Request({"method": method, "path": path, "query_string": query, "headers": []}, receive=None)
    new_request.info, new_request.user = parse(method, path), UserInfo("alice")
    return new_request


def test_audit_ids_are_unique_and_look_like_uuids():
    ids = AuditIds(lambda count: b"\xff" * count)
    created = [ids.next() for _ in range(1000)]
    assert created[0] == b"ffffffff-ffff-4fff-bfff-000000000001"
    assert len(set(created)) == 1000


async def samples(metrics: RequestMetrics, name: str) -> dict[str, float]:
    family = next(family for family in await metrics.collect() if family.name == name)
    return {
        suffix + ",".join(value for key, value in labels if value and key != "component"): number
        for suffix, labels, number in family.samples
    }


async def test_responses_are_counted_by_code():
    metrics = RequestMetrics(InFlight())
    outcomes = [Response(201), bad_request("no"), RuntimeError(), Response(201)]

    async def handler(request: Request) -> Response:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    counted = count_requests(metrics, monotonic=iter(range(100)).__next__)(handler)
    for _ in range(4):
        with contextlib.suppress(StatusError, RuntimeError):
            await counted(request("POST", "/apis/apps/v1/namespaces/a/deployments", b"dryRun=All"))
    assert await samples(metrics, "apiserver_request_total") == {
        "201,All,apps,deployments,resource,POST,v1": 2,
        "400,All,apps,deployments,resource,POST,v1": 1,
        "500,All,apps,deployments,resource,POST,v1": 1,
    }
    durations = await samples(metrics, "apiserver_request_duration_seconds")
    assert durations["_bucketAll,apps,deployments,resource,POST,v1,1.0"] == 4
    assert durations["_bucketAll,apps,deployments,resource,POST,v1,0.8"] == 0
    assert durations["_countAll,apps,deployments,resource,POST,v1"] == 4


async def test_requests_of_the_server_itself_are_counted():
    metrics = RequestMetrics(InFlight())

    async def handler(request: Request) -> Response:
        return Response(200)

    counted = count_requests(metrics)(handler)
    own, other = request("GET", "/api/v1/pods"), request("GET", "/api/v1/pods")
    own.user = SERVER_USER
    await counted(own)
    await counted(other)
    assert await samples(metrics, "apiserver_selfrequest_total") == {"pods,LIST": 1}


async def test_watch_is_counted_as_in_progress_until_its_stream_ends():
    metrics = RequestMetrics(InFlight())

    async def stream():
        yield b"a"

    async def handler(request: Request) -> Response:
        return Response(200, stream=stream())

    response = await count_requests(metrics)(handler)(request("GET", "/api/v1/watch/pods"))
    assert await samples(metrics, "apiserver_longrunning_requests") == {"pods,cluster,WATCH,v1": 1}
    response.on_end()
    assert await samples(metrics, "apiserver_longrunning_requests") == {}


async def test_label_sets_are_bounded():
    metrics = RequestMetrics(InFlight())
    for number in range(5000):
        metrics.count(metrics.series(parse("GET", f"/api/v1/made{number}"), ""), 404, 0.0)
    assert len(await samples(metrics, "apiserver_request_total")) == 4097


async def test_only_overload_responses_count_as_terminations():
    metrics = RequestMetrics(InFlight())
    responses = [too_many_requests(1), Response(429)]

    async def handler(request: Request) -> Response:
        return responses.pop()

    counted = count_requests(metrics)(handler)
    for _ in range(2):
        await counted(request("GET", "/api/v1/pods"))
    assert await samples(metrics, "apiserver_request_total") == {"429,pods,cluster,LIST,v1": 2}
    assert await samples(metrics, "apiserver_request_terminations_total") == {"429,pods,cluster,LIST,v1": 1}
