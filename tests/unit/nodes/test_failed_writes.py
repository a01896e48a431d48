"""Retries of the simulated kubelet's failed writes."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import pytest
from tests.conformance.informer.faults import status
from tests.unit.nodes.world import NODES, PODS, cluster

from steersman.client import tree
from steersman.client.errors import NotFound
from steersman.client.transport import Request, Response, Stream, Transport, TransportError

LEASES = tree("coordination.k8s.io/v1", "Lease")
EVENTS = tree("v1", "Event")
FAILURES = ("409", "429", "500", "reset", "lost answer")


class FailingWrites:
    """Transport that fails the first writes with one method to paths with one prefix."""

    host = "failing writes"

    def __init__(self, inner: Transport, failure: str, method: str, path: str, *, times: int = 2) -> None:
        self._inner = inner
        self._failure = failure
        self._method, self._prefix = method, path
        self._remaining = times
        self.failed = 0

    async def request(self, request: Request) -> Response:
        is_concerned = request.method == self._method and request.path.startswith(self._prefix)
        if not is_concerned or not self._remaining:
            return await self._inner.request(request)
        self._remaining -= 1
        self.failed += 1
        if self._failure.isdigit():
            return Response(int(self._failure), {}, status(int(self._failure)))
        if self._failure == "lost answer":
            await self._inner.request(request)
        raise TransportError("connection reset by peer")

    def open(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.open(request)

    async def close(self) -> None:
        await self._inner.close()


def failing(failure: str, method: str, path: str):
    """Return a list that will hold the transport, and the function that makes it."""
    failures: list[FailingWrites] = []

    def wrap(inner: Transport) -> Transport:
        failures.append(FailingWrites(inner, failure, method, path))
        return failures[0]

    return failures, wrap


@pytest.mark.parametrize("failure", FAILURES)
async def test_pod_becomes_running_when_its_status_patch_fails(failure):
    failures, wrap = failing(failure, "PATCH", "/api/v1/namespaces/default/pods/a/status")
    async with cluster(wrap=wrap) as world:
        await world.pod("a")
        await world.settle(5)
        assert await world.phase("a") == "Running"
    assert failures[0].failed > 0


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", "/api/v1/namespaces/default/pods/a/status"),
        ("DELETE", "/api/v1/namespaces/default/pods/a"),
    ],
)
async def test_terminating_pod_is_removed_when_a_write_fails(failure, method, path):
    async with cluster() as world:
        await world.pod("a")
        await world.settle(5)
        await world.nodes.close()
        await world.client.delete(PODS, "a", namespace="default", grace_period_seconds=30)
        failures, wrap = failing(failure, method, path)
        world.start_with(wrap)
        await world.settle(5)
        with pytest.raises(NotFound):
            await world.client.get(PODS, "a", namespace="default")
    assert failures[0].failed > 0


@pytest.mark.parametrize("failure", FAILURES)
async def test_pod_waits_with_config_error_when_its_status_patch_fails(failure):
    _, wrap = failing(failure, "PATCH", "/api/v1/namespaces/default/pods/a/status")
    container = {"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": "missing"}}]}
    async with cluster(wrap=wrap) as world:
        await world.pod("a", containers=[container])
        await world.settle(5)
        pod = await world.client.get(PODS, "a", namespace="default")
        assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CreateContainerConfigError"


@pytest.mark.parametrize("failure", FAILURES)
async def test_node_is_registered_when_its_creation_fails(failure):
    failures, wrap = failing(failure, "POST", "/api/v1/nodes")
    async with cluster(wrap=wrap) as world:
        await world.settle(5)
        node = await world.client.get(NODES, "node-0")
        addresses = [address["address"] for address in node["status"]["addresses"] if address["type"] == "InternalIP"]
        assert addresses == ["172.16.0.1"], "each attempt offers the same address"
    assert failures[0].failed > 0


@pytest.mark.parametrize("failure", FAILURES)
async def test_node_status_is_reported_again_when_the_report_fails(failure):
    async with cluster() as world:
        await world.settle(5)
        await world.nodes.close()
        failures, wrap = failing(failure, "PATCH", "/api/v1/nodes/node-0/status")
        world.start_with(wrap)
        await world.settle(5)
        before = await heartbeat(world)
        await world.settle(340)
        assert await heartbeat(world) > before
    assert failures[0].failed > 0


async def heartbeat(world) -> str:
    node = await world.client.get(NODES, "node-0")
    return min(condition["lastHeartbeatTime"] for condition in node["status"]["conditions"])


@pytest.mark.parametrize("failure", FAILURES)
async def test_lease_is_renewed_when_its_creation_fails(failure):
    failures, wrap = failing(failure, "POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")
    async with cluster(wrap=wrap) as world:
        await world.settle(30)
        lease = await world.client.get(LEASES, "node-0", namespace="kube-node-lease")
        assert lease["spec"]["holderIdentity"] == "node-0"
        (owner,) = lease["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("Node", "node-0")
    assert failures[0].failed > 0


async def test_events_of_a_transition_are_recorded_once_when_its_write_is_repeated():
    _, wrap = failing("500", "PATCH", "/api/v1/namespaces/default/pods/a/status")
    async with cluster(wrap=wrap) as world:
        await world.pod("a", containers=[{"name": "c", "image": "registry.invalid/app"}])
        await world.settle(5)
        events = await world.client.list(EVENTS, namespace="default", field_selector="involvedObject.name=a")
        assert {event["count"] for event in events} == {1}


TWO_PATCHES = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: two-patches}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.labels.seen, operator: DoesNotExist}
  next:
    patches:
    - {root: metadata, template: "labels: {seen: yes-it-is}"}
    - {root: status, subresource: status, template: "phase: Running"}
"""


@pytest.mark.parametrize("failure", FAILURES)
async def test_stage_is_completed_when_its_second_patch_fails_after_the_first_has_ended_its_match(failure, tmp_path):
    stages = tmp_path / "stages.yaml"
    stages.write_text(TWO_PATCHES)
    failures, wrap = failing(failure, "PATCH", "/api/v1/namespaces/default/pods/a/status")
    async with cluster(str(stages), wrap=wrap) as world:
        await world.pod("a")
        await world.settle(5)
        assert await world.phase("a") == "Running"
    assert failures[0].failed > 0
