"""The scheduler loop against an API server: watches, writes, and failed writes."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from lightkube.models.core_v1 import Event, Node, Pod, ServiceAccount
from lightkube.models.resource_v1 import ResourceClaim
from tests.unit.scheduler.devices import claim, device_class, slice_

from steersman.asynckit.clock import FakeClock
from steersman.client import Client
from steersman.client.transport import Request, Response, TransportError
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.runtime.context import ControllerContext
from steersman.scheduler.configuration.settings import ProfileSettings, Settings
from steersman.scheduler.scheduler import Scheduler
from steersman.testing import InProcessAPIServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

REFUSED = b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Conflict","code":409}'


class FailingTransport(LoopbackTransport):
    """Transport that fails selected requests a number of times."""

    def __init__(self, loopback: Any) -> None:
        super().__init__(loopback)
        self.refuse: dict[str, int] = {}
        #: Remaining lost responses of executed requests, by suffix of the path.
        self.lose: dict[str, int] = {}
        self.requests: list[str] = []

    async def request(self, request: Request) -> Response:
        if request.method != "GET":
            self.requests.append(f"{request.method} {request.path}")
        for end, left in self.refuse.items():
            if left and request.path.endswith(end):
                self.refuse[end] -= 1
                return Response(409, {"content-type": "application/json"}, REFUSED)
        answer = await super().request(request)
        for end, left in self.lose.items():
            if left and request.path.endswith(end):
                self.lose[end] -= 1
                raise TransportError("connection lost")
        return answer


class Running:
    """An API server with a scheduler and a client."""

    def __init__(self, server: InProcessAPIServer, clock: FakeClock, settings: Settings | None = None) -> None:
        self.clock = clock
        self.client = Client(LoopbackTransport(server.core.client), clock=clock)
        self.transport = FailingTransport(server.core.client)
        self._context = ControllerContext(
            Client(self.transport, clock=clock, user_agent="kube-scheduler/test"), dice=random.Random(1)
        )
        self.scheduler = Scheduler(self._context, settings=settings, host="h")
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(self._context.events.run()), asyncio.create_task(self.scheduler.run())]
        await self.until(lambda: self.scheduler.is_ready)

    async def close(self) -> None:
        self.scheduler.stop()
        await self.clock.advance(1)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._context.informers.close()

    async def until(self, condition: Callable[[], Any], *, within_seconds: float = 60) -> Any:
        for _ in range(int(within_seconds / 0.1)):
            held = condition()
            held = await held if asyncio.iscoroutine(held) else held
            if held:
                return held
            await self.clock.advance(0.1)
        raise AssertionError("it did not come about")

    async def node(self, name: str, cpu: str = "4") -> None:
        capacity = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
        status = {"capacity": capacity, "allocatable": capacity}
        await self.client.create(Node.from_dict({"metadata": {"name": name}, "status": status}))
        await self.client.patch(Node, name, {"spec": {"taints": None}})

    async def pod(self, name: str, cpu: str = "1", **spec: Any) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        spec = {"containers": [container], **spec}
        await self.client.create(Pod.from_dict({"metadata": {"name": name, "namespace": "default"}, "spec": spec}))

    async def get(self, name: str) -> Pod:
        return await self.client.get(Pod, name, namespace="default")

    async def node_of(self, name: str) -> str | None:
        response = await self.get(name)
        assert response.spec is not None
        return response.spec.nodeName

    async def events(self, reason: str) -> list[str | None]:
        events = await self.client.list(Event, namespace="default")
        return [event.message for event in events if event.reason == reason]

    async def message(self, name: str, reason: str = "Unschedulable") -> str | None:
        response: Any = await self.get(name)
        conditions = response.status.conditions or []
        return next((condition.message for condition in conditions if condition.reason == reason), None)


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with started() as created:
        yield created


@asynccontextmanager
async def started(settings: Settings | None = None) -> AsyncIterator[Running]:
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock) as server:
        new_running = Running(server, clock, settings)
        account = {"metadata": {"name": "default", "namespace": "default"}}
        await new_running.client.create(ServiceAccount.from_dict(account))
        await new_running.start()
        yield new_running
        await new_running.close()


async def test_scheduler_binds_pod_and_records_an_event(running: Running) -> None:
    await running.node("n")
    await running.pod("p")
    assert await running.until(lambda: running.node_of("p")) == "n"
    assert await running.until(lambda: running.events("Scheduled")) == ["Successfully assigned default/p to n"]


async def test_scheduler_reports_unschedulable_pod_and_binds_it_when_a_node_is_added(running: Running) -> None:
    await running.pod("p")
    assert await running.until(lambda: running.message("p")) == "no nodes available to schedule pods"
    await running.node("small", cpu="500m")
    await running.until(lambda: running.message("p"))
    await running.node("n")
    assert await running.until(lambda: running.node_of("p")) == "n"


async def test_scheduler_retries_rejected_binding_after_backoff(running: Running) -> None:
    running.transport.refuse["/binding"] = 2
    await running.node("n", cpu="1")
    await running.pod("p")
    assert await running.until(lambda: running.message("p", "SchedulerError")) == "no"
    assert await running.until(lambda: running.node_of("p")) == "n"
    bindings = [request for request in running.transport.requests if request.endswith("/binding")]
    assert len(bindings) == 3
    assert running.clock.monotonic() >= 3  # backoff of one second, then two


async def test_scheduler_keeps_assumed_pod_when_the_binding_response_is_lost(running: Running) -> None:
    running.transport.lose["/binding"] = 1
    running.transport.lose["/pods/p"] = 2
    await running.node("n", cpu="1")
    await running.pod("p")
    await running.pod("q")
    assert await running.until(lambda: running.node_of("p")) == "n"
    assert await running.until(lambda: running.message("q"))
    await running.clock.advance(20)
    assert await running.message("p", "SchedulerError") is None
    assert await running.node_of("q") is None


async def test_scheduler_preempts_lower_priority_pods(running: Running) -> None:
    await running.node("n", cpu="1")
    await running.client.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                                 "metadata": {"name": "high"}, "value": 1000})  # fmt: skip
    await running.pod("low", terminationGracePeriodSeconds=0)
    await running.until(lambda: running.node_of("low"))
    await running.pod("high", priorityClassName="high")

    async def nominated() -> str | None:
        response: Any = await running.get("high")
        return response.status.nominatedNodeName or response.spec.nodeName

    assert await running.until(nominated) == "n"

    async def leaving() -> bool:
        pods = await running.client.list(Pod, namespace="default")
        low = [pod for pod in pods if pod.metadata is not None and pod.metadata.name == "low"]
        return not low or low[0].metadata.deletionTimestamp is not None  # type: ignore[union-attr]

    await running.until(leaving)
    assert await running.until(lambda: running.node_of("high")) == "n"


async def test_scheduler_runs_several_profiles() -> None:
    names = ("default-scheduler", "mine")
    settings = Settings(profiles=tuple(ProfileSettings(scheduler_name=name) for name in names))
    async with started(settings) as running:
        await running.node("n")
        for name in (*names, "other"):
            await running.pod(name, cpu="100m", schedulerName=name)
        for name in names:
            await running.until(lambda name=name: running.node_of(name))  # type: ignore[misc]

        async def reporters() -> set[tuple[str | None, str | None]]:
            events = await running.client.list(Event, namespace="default")
            result = {(event.reportingComponent, event.reportingInstance) for event in events}
            return result if len(result) == len(names) else set()

        assert await running.until(reporters) == {(name, f"{name}-h") for name in names}
        assert await running.node_of("other") is None


async def test_scheduler_skips_gated_pods_until_the_gate_is_removed(running: Running) -> None:
    await running.node("n")
    await running.pod("p", schedulingGates=[{"name": "wait"}])
    await running.clock.advance(5)
    assert await running.node_of("p") is None
    await running.client.patch(Pod, "p", {"spec": {"schedulingGates": None}}, namespace="default")
    assert await running.until(lambda: running.node_of("p")) == "n"


# ResourceClaims


async def _with_device(running: Running) -> None:
    await running.node("n")
    await running.client.create(device_class())
    await running.client.create(slice_("s", "a", node="n"))
    new_claim = claim("c")
    new_claim.metadata.uid = new_claim.metadata.resourceVersion = None  # type: ignore[union-attr]
    await running.client.create(new_claim)


async def _claim(running: Running) -> Any:
    return await running.client.get(ResourceClaim, "c", namespace="default")


USES = [{"name": "d", "resourceClaimName": "c"}]


async def test_scheduler_writes_claim_allocation_before_binding(running: Running) -> None:
    await _with_device(running)
    await running.pod("p", resourceClaims=USES)
    assert await running.until(lambda: running.node_of("p")) == "n"
    claim = await _claim(running)
    assert claim.metadata.finalizers == ["resource.kubernetes.io/delete-protection"]
    assert [result.device for result in claim.status.allocation.devices.results] == ["a"]
    assert [request.name for request in claim.status.reservedFor] == ["p"]
    steps = [request.rpartition("/")[2] for request in running.transport.requests if "events" not in request]
    assert steps[-4:] == ["status", "c", "status", "binding"]


async def test_claim_write_is_retried_on_conflict(running: Running) -> None:
    running.transport.refuse["/resourceclaims/c/status"] = 2
    await _with_device(running)
    await running.pod("p", resourceClaims=USES)
    assert await running.until(lambda: running.node_of("p")) == "n"


async def test_failed_binding_releases_reservation_and_keeps_allocation(running: Running) -> None:
    running.transport.refuse["/binding"] = 1
    await _with_device(running)
    await running.pod("p", resourceClaims=USES)
    await running.until(lambda: running.message("p", "SchedulerError"))
    claim = await _claim(running)
    assert claim.status.allocation is not None
    assert not claim.status.reservedFor
    assert await running.until(lambda: running.node_of("p")) == "n"
    assert [request.name for request in (await _claim(running)).status.reservedFor] == ["p"]


async def test_unused_claim_of_a_deleted_node_is_reallocated(running: Running) -> None:
    running.transport.refuse["/binding"] = 1
    await _with_device(running)
    await running.pod("p", resourceClaims=USES)
    await running.until(lambda: running.message("p", "SchedulerError"))
    await running.client.delete(Node, "n")
    await running.node("other")
    await running.client.create(slice_("s2", "b", node="other"))
    assert await running.until(lambda: running.node_of("p")) == "other"
    assert [result.device for result in (await _claim(running)).status.allocation.devices.results] == ["b"]


async def test_devices_stay_allocated_when_the_claim_response_is_lost(running: Running) -> None:
    running.transport.lose["/resourceclaims/c/status"] = 1
    await _with_device(running)
    await running.pod("p", resourceClaims=USES)
    assert await running.until(lambda: running.node_of("p")) == "n"
    assert await running.message("p", "SchedulerError") is None
    assert [request.name for request in (await _claim(running)).status.reservedFor] == ["p"]


async def _asks_for_an_extended_resource(running: Running) -> None:
    await running.node("n")
    await running.client.create(device_class("gpu", extendedResourceName="example.com/gpu"))
    await running.client.create(slice_("s", "a", node="n"))
    requested = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
    await running.pod("p", containers=[{"name": "c", "image": "i", "resources": requested}])


async def test_scheduler_creates_extended_resource_claim(running: Running) -> None:
    await _asks_for_an_extended_resource(running)
    assert await running.until(lambda: running.node_of("p")) == "n"
    (created,) = await running.client.list(ResourceClaim, namespace="default")
    actual: Any = created
    assert actual.metadata.name.startswith("p-extended-resources-")
    assert actual.metadata.annotations == {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert [result.device for result in actual.status.allocation.devices.results] == ["a"]
    assert [request.name for request in actual.status.reservedFor] == ["p"]
    status: Any = (await running.get("p")).status
    assert status.extendedResourceClaimStatus.resourceClaimName == actual.metadata.name
    (mapping,) = status.extendedResourceClaimStatus.requestMappings
    assert (mapping.containerName, mapping.requestName) == ("c", "container-0-request-0")


async def test_extended_resource_claim_is_deleted_when_binding_fails(running: Running) -> None:
    running.transport.refuse["/binding"] = 1
    await _asks_for_an_extended_resource(running)
    await running.until(lambda: running.message("p", "SchedulerError"))
    assert not await running.client.list(ResourceClaim, namespace="default")
    assert await running.until(lambda: running.node_of("p")) == "n"
    assert len(await running.client.list(ResourceClaim, namespace="default")) == 1


async def test_extended_resource_claim_is_recreated_when_the_response_is_lost(running: Running) -> None:
    running.transport.lose["/resourceclaims"] = 1
    await _asks_for_an_extended_resource(running)
    assert await running.until(lambda: running.node_of("p")) == "n"
    assert len(await running.client.list(ResourceClaim, namespace="default")) == 1


async def test_scheduler_binds_pod_after_device_binding_conditions(running: Running) -> None:
    await running.node("n")
    await running.client.create(device_class())
    slow = {"name": "a", "bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"]}
    await running.client.create(slice_("s", slow, node="n"))
    new_claim = claim("c")
    new_claim.metadata.uid = new_claim.metadata.resourceVersion = None  # type: ignore[union-attr]
    await running.client.create(new_claim)
    await running.pod("p", resourceClaims=USES)

    async def event_messages() -> list[str | None]:
        events = await running.client.list(Event, namespace="default")
        return [event.message for event in events if event.reason == "BindingConditionsPending"]

    assert await running.until(event_messages) == ["waiting for binding conditions for device on node n"]
    assert await running.node_of("p") is None
    ready = {"type": "Attached", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    device = {"driver": "gpu.example.com", "pool": "s", "device": "a", "conditions": [ready]}
    await running.client.patch(
        ResourceClaim, "c", {"status": {"devices": [device]}}, namespace="default", subresource="status"
    )
    assert await running.until(lambda: running.node_of("p")) == "n"


async def test_scheduler_run_returns_when_stopped_before_its_caches_are_synced() -> None:
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock) as server:
        context = ControllerContext(Client(LoopbackTransport(server.core.client), clock=clock))
        scheduler = Scheduler(context, host="h")
        scheduler.stop()
        await scheduler.run()
        assert not scheduler.is_ready
        await context.informers.close()
