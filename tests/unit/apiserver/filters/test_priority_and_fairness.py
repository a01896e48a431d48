"""Execution, queuing and rejection of requests."""

import asyncio

import pytest

from steersman.apimachinery.errors import StatusError, not_found
from steersman.apiserver.filters.max_in_flight import InFlight
from steersman.apiserver.filters.priority_and_fairness import PriorityAndFairness, priority_and_fairness
from steersman.apiserver.filters.request_info import parse
from steersman.apiserver.flowcontrol.control import FlowControl
from steersman.apiserver.http import Request, Response
from steersman.apiserver.kinds.flowcontrol.shared.mandatory import FLOW_SCHEMAS, PRIORITY_LEVELS
from steersman.apiserver.request import UserInfo
from steersman.asynckit.clock import FakeClock

PODS = "/api/v1/namespaces/a/pods"
QUEUING = {"queues": 64, "handSize": 6, "queueLengthLimit": 10}
LEVEL = {
    "type": "Limited",
    "limited": {"nominalConcurrencyShares": 100, "limitResponse": {"type": "Queue", "queuing": QUEUING}},
}
SCHEMA = {
    "matchingPrecedence": 500,
    "priorityLevelConfiguration": {"name": "work"},
    "distinguisherMethod": {"type": "ByUser"},
    "rules": FLOW_SCHEMAS["catch-all"]["rules"],
}


def request(user: str = "alice", method: str = "GET", path: str = PODS, *groups: str) -> Request:
    new_request = Request({"method": method, "path": path, "query_string": b"", "headers": []}, receive=None)
    new_request.info = parse(method, path)
    new_request.user = UserInfo(user, groups or ("system:authenticated",))
    return new_request


class Server:
    """Filter before a handler that responds when released."""

    def __init__(self, *, seats: int = 4, stored: int = 0) -> None:
        self.clock = FakeClock()
        named = [{"metadata": {"name": name}, "spec": spec} for name, spec in FLOW_SCHEMAS.items()]
        levels = [{"metadata": {"name": name}, "spec": spec} for name, spec in PRIORITY_LEVELS.items()]
        self.control = FlowControl(seats=seats, mandatory_schemas=named, mandatory_levels=levels)
        self.control.configure(
            [{"metadata": {"name": "mine", "uid": "s-1"}, "spec": SCHEMA}],
            [{"metadata": {"name": "work", "uid": "l-1"}, "spec": LEVEL}],
            now=0.0,
        )
        self.in_flight = InFlight()
        means = PriorityAndFairness(self.control, stored=lambda info: stored, wait_max_seconds=15.0, clock=self.clock)
        self.handle = priority_and_fairness(means, self.in_flight)(self.answer)
        self.means = means
        self.served: list[str] = []
        self.seconds = 1.0

    async def answer(self, request: Request) -> Response:
        self.served.append(request.user.name)
        await self.clock.sleep(self.seconds)
        if request.info.name == "missing":
            raise not_found("pods", "missing")
        return Response(200)

    @property
    def level(self):
        return self.control.levels["work"]

    @property
    def counts(self):
        return self.control.counts["mine", "work"]


async def settled(tasks: list[asyncio.Task]) -> list[int]:
    """Return the status codes of the responses."""
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    return [outcome.code for outcome in outcomes]


async def test_responses_have_schema_and_level_headers_also_when_rejected():
    server = Server()
    server.seconds = 0
    ours = {(b"x-kubernetes-pf-flowschema-uid", b"s-1"), (b"x-kubernetes-pf-prioritylevel-uid", b"l-1")}
    assert ours <= set((await server.handle(request())).headers)
    with pytest.raises(StatusError) as error:
        await server.handle(request(path=f"{PODS}/missing"))
    assert error.value.headers["x-kubernetes-pf-flowschema-uid"] == "s-1"


async def test_flood_of_one_user_does_not_starve_others():
    server = Server(seats=4)
    flood = [asyncio.create_task(server.handle(request("flood"))) for _ in range(200)]
    await server.clock.advance(0)
    others = [asyncio.create_task(server.handle(request(user))) for user in ("bob", "carol")]
    await server.clock.advance(3)
    assert [task.done() and task.result().code for task in others] == [200, 200]
    await server.clock.advance(60)
    codes = await settled(flood)
    assert codes.count(200) >= 4 * 14  # within their maximum wait
    assert codes.count(429) == 200 - codes.count(200)
    assert (server.level.in_use, server.level.waiting) == (0, 0)


async def test_time_in_the_queue_is_excluded_from_the_latency_of_the_server():
    server = Server(seats=1)
    read, write = request(), request(method="POST")
    tasks = [asyncio.create_task(server.handle(one)) for one in (request(), read, write)]
    await server.clock.advance(0)
    assert (server.in_flight.queued_reading, server.in_flight.queued_mutating) == (1, 1)
    await server.clock.advance(3)
    assert await settled(tasks) == [200, 200, 200]
    assert sorted([read.latency.excluded_seconds, write.latency.excluded_seconds]) == [1, 2]
    assert (server.in_flight.queued_reading, server.in_flight.queued_mutating) == (0, 0)


async def test_request_is_rejected_when_queues_are_full():
    server = Server(seats=1)
    tasks = [asyncio.create_task(server.handle(request())) for _ in range(80)]
    await server.clock.advance(0)
    refused = [task for task in tasks if task.done()]
    response = refused[0].result()
    assert (response.code, response.body) == (429, b"Too many requests, please try again later.\n")
    assert {
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"x-content-type-options", b"nosniff"),
        (b"retry-after", b"1"),
        (b"x-kubernetes-pf-flowschema-uid", b"s-1"),
        (b"x-kubernetes-pf-prioritylevel-uid", b"l-1"),
    } <= set(response.headers)
    assert server.counts.rejected["queue-full"] == len(refused) == 80 - 1 - 60
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (server.level.in_use, server.level.waiting, server.counts.waiting) == (0, 0, 0)
    assert server.counts.rejected["cancelled"] == 60
    assert server.in_flight.queued_reading == 0


async def test_request_is_rejected_after_maximum_wait():
    server = Server(seats=1)
    server.seconds = 40.0
    tasks = [asyncio.create_task(server.handle(request())) for _ in range(2)]
    await server.clock.advance(14.9)
    assert not tasks[1].done()
    await server.clock.advance(0.1)
    assert tasks[1].result().code == 429
    assert server.counts.rejected == {"time-out": 1}
    await server.clock.advance(40)
    assert (await settled(tasks))[0] == 200


async def test_exempt_requests_always_execute():
    server = Server(seats=1)
    tasks = [asyncio.create_task(server.handle(request("root", "GET", PODS, "system:masters"))) for _ in range(50)]
    await server.clock.advance(1)
    assert await settled(tasks) == [200] * 50


async def test_watch_releases_its_seat_when_initialized():
    server = Server(seats=1)
    server.seconds = 0
    for _ in range(5):
        assert (await server.handle(request(path="/api/v1/watch/pods"))).code == 200
    assert server.level.in_use == 0
    assert server.counts.dispatched == 5


async def test_long_running_requests_are_not_limited():
    server = Server(seats=1)
    tasks = [asyncio.create_task(server.handle(request(method="POST", path=f"{PODS}/b/exec"))) for _ in range(5)]
    await server.clock.advance(0)
    assert (len(server.served), server.level.in_use) == (5, 0)
    await server.clock.advance(1)
    assert await settled(tasks) == [200] * 5


async def test_cancelled_request_releases_its_seat():
    server = Server(seats=1)
    task = asyncio.create_task(server.handle(request()))
    await server.clock.advance(0)
    assert (server.level.in_use, server.in_flight.reading) == (1, 1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (server.level.in_use, server.in_flight.reading) == (0, 0)


async def test_request_cancelled_when_dispatched_releases_its_seat():
    server = Server(seats=1)
    first, second = (asyncio.create_task(server.handle(request(user))) for user in "ab")
    await server.clock.advance(0)
    server.level.resize(2, 0.0)  # dispatched, but the task has not run yet
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert server.level.in_use == 1
    await server.clock.advance(1)
    await first


@pytest.mark.parametrize(
    ("stored", "path", "seats"),
    [(0, PODS, 1), (100, PODS, 1), (101, PODS, 2), (10**6, PODS, 10), (10**6, f"{PODS}/b", 1)],
)
async def test_seats_of_list_follow_number_of_objects(stored, path, seats):
    assert Server(stored=stored).means.seats(parse("GET", path)) == seats


async def test_requests_in_flight_are_counted():
    server = Server()
    tasks = [asyncio.create_task(server.handle(request(method=method))) for method in ("GET", "POST")]
    await server.clock.advance(0)
    assert (server.in_flight.reading, server.in_flight.mutating) == (1, 1)
    await server.clock.advance(1)
    await settled(tasks)
    assert (server.in_flight.reading, server.in_flight.mutating) == (0, 0)
