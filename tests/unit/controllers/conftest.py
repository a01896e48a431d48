"""A server in this process, controllers on it, and a clock that tests advance."""

from __future__ import annotations

import asyncio
import random
import sys

import msgspec
import pytest
from tests.definitions import definition

from steersman.apimachinery.errors import is_not_found
from steersman.asynckit.clock import FakeClock
from steersman.client import Client, tree
from steersman.client.errors import ApiError
from steersman.client.transport import Response
from steersman.controllers import registry
from steersman.controllers.context import ControllerContext
from steersman.controllers.options import ControllerOptions
from steersman.controllers.shared.base import ManagedController
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.testing import InProcessAPIServer


class Cluster:
    """Control plane and controllers of one test."""

    def __init__(self, client, clock):
        self.client = client
        self.clock = clock
        self._contexts = []
        self._tasks = []

    async def start(self, build, *, served=(), **options):
        """Start a controller, and wait until its caches are synced."""
        context = ControllerContext(
            self.client, name="test", options=ControllerOptions(**options), dice=random.Random(1), served=served
        )
        controller = build(context)
        self._contexts.append(context)
        context.informers.start()
        self._tasks += [asyncio.create_task(context.events.run()), asyncio.create_task(controller.run())]
        await self.until(lambda: controller.is_ready)
        return controller

    def sample(self, controller, name, labels=None):
        """Return the value of a metric that the controller counts."""
        return controller.context.metrics.registry.get_sample_value(name, labels or {})

    async def until(self, condition, *, step_seconds=0.05, within_seconds=60):
        """Let time pass in small steps until it holds; ``condition`` may be a coroutine function."""
        for _ in range(int(within_seconds / step_seconds)):
            held = condition()
            if asyncio.iscoroutine(held):
                held = await held
            if held:
                return held
            await self.clock.advance(step_seconds)
        raise AssertionError("it did not come about")

    async def make(self, api_version, kind, name, *, namespace="", **more):
        """Create an object; a status in ``more`` is written, too."""
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("metadata", {})}
        status = more.pop("status", None)
        created = await self.client.create({"apiVersion": api_version, "kind": kind, "metadata": metadata, **more})
        if status is not None:
            created = await self.client.update_status({**created, "status": status})
        return created

    async def define(self, resource, *, fields=()):
        """Serve a kind that the server does not have itself; ``fields`` of its spec can be selected by."""
        await self.client.create(definition(resource, selectable=fields))
        await self.until(lambda: self.serves(resource))

    async def serves(self, resource):
        """Whether objects of a resource can be listed."""
        try:
            await self.client.list(resource)
        except ApiError as error:
            if is_not_found(error):
                return False
            raise
        return True

    async def find(self, api_version, kind, name, *, namespace=None):
        """Return the object as a tree, or None."""
        try:
            return await self.client.get(tree(api_version, kind), name, namespace=namespace)
        except ApiError as error:
            if is_not_found(error):
                return None
            raise

    async def eventually(self, api_version, kind, name, matches, *, namespace=None, within_seconds=60):
        """Wait until ``matches`` is true of the object, a tree or None; return it."""

        async def is_so():
            result = await self.find(api_version, kind, name, namespace=namespace)
            return (result or True) if matches(result) else None

        return await self.until(is_so, within_seconds=within_seconds)

    async def events(self, reason):
        """Return the events with a reason."""
        return [event for event in await self.client.list(tree("v1", "Event")) if event["reason"] == reason]

    async def close(self):
        for task in reversed(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for context in self._contexts:
            await context.informers.close()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def cluster(clock):
    async with InProcessAPIServer(clock=clock) as server:
        client = Client(LoopbackTransport(server.core.client), clock=clock, user_agent="kube-controller-manager/test")
        running = Cluster(client, clock)
        for name in ("default", "kube-system", "kube-public"):
            if await running.find("v1", "Namespace", name) is None:
                await running.make("v1", "Namespace", name)
        if await running.find("v1", "ServiceAccount", "default", namespace="default") is None:
            await running.make("v1", "ServiceAccount", "default", namespace="default")
        yield running
        await running.close()


class Conflicts:
    """Requests that are answered with 409, each once, in place of the server."""

    _STATUS = msgspec.json.encode(
        {"kind": "Status", "status": "Failure", "code": 409, "reason": "Conflict", "message": "refused"}
    )

    def __init__(self):
        self._expected = []

    def add(self, method, path_suffix):
        """Reject the next request of the method to a path with the suffix."""
        self._expected.append((method, path_suffix))

    def answer(self, request):
        """Return the response to a request; None to send it to the server."""
        for expected in self._expected:
            if request.method == expected[0] and request.path.endswith(expected[1]):
                self._expected.remove(expected)
                return Response(409, {"content-type": "application/json"}, self._STATUS)
        return None


@pytest.fixture
def conflicts(monkeypatch):
    added, send = Conflicts(), LoopbackTransport.request

    async def request(self, request):
        return added.answer(request) or await send(self, request)

    monkeypatch.setattr(LoopbackTransport, "request", request)
    return added


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A directory that packages with controllers are installed into (``tests.installed``)."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    registry.installed.cache_clear()
    yield tmp_path
    registry.installed.cache_clear()
    for name in set(sys.modules) - before:
        if not name.startswith("steersman"):
            del sys.modules[name]


@pytest.fixture
def pod_spec():
    return {"containers": [{"name": "c", "image": "image"}]}


@pytest.fixture
def resyncs(monkeypatch):
    """Periods and keys that controllers ask to have queued again, in the order in which they are built."""
    requests = []
    monkeypatch.setattr(ManagedController, "resync_every", lambda _, seconds, keys: requests.append((seconds, keys)))
    return requests
