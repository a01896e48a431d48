"""Expensive requests leave the event loop to others and end at their deadlines."""

import asyncio
import threading

import msgspec
import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit.cel.expressions import evaluated

from steersman.apimachinery import yaml_reader
from steersman.apimachinery.workmeter import InterruptedWorkError, Interruption, metered, spend
from steersman.apiserver import workers
from steersman.apiserver.authz.pending import call_with
from steersman.apiserver.filters.errors import errors
from steersman.apiserver.filters.request_info import request_info
from steersman.apiserver.generic import store, write_pipeline
from steersman.apiserver.server.app import Application
from steersman.apiserver.server.loopback import Loopback
from steersman.asynckit.clock import FakeClock
from steersman.testing import InProcessAPIServer

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LISTS = "/apis/example.com/v1/namespaces/default/lists"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


class Gate:
    """Replacement of the workers: each step waits until the test releases it."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.released = asyncio.Event()
        self.steps: list[str] = []

    async def __call__(self, function, *args, **kwargs):
        step = args[1] if function is call_with else function
        self.steps.append(getattr(step, "__name__", ""))
        self.reached.set()
        await self.released.wait()
        return function(*args, **kwargs)


@pytest.fixture
def gate(monkeypatch):
    new_gate = Gate()
    monkeypatch.setattr(workers, "in_worker", new_gate)
    return new_gate


async def wait_until(server, path, code):
    async with asyncio.timeout(HANG_SECONDS):
        while (await server.request("GET", path)).code != code:  # noqa: ASYNC110
            await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn


@pytest.fixture
async def server():
    rules = [{"rule": f"self.all(a, self.all(b, a + b >= {number}))"} for number in (0, -1, -2)]
    text = {"type": "string", "pattern": "^(a|b)*c{500}$"}
    numbers = {"type": "array", "maxItems": 300, "items": {"type": "integer"}, "x-kubernetes-validations": rules}
    schema = {"type": "object", "properties": {"n": numbers, "t": text}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "lists", "kind": "List"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    async with InProcessAPIServer() as started:
        body = msgspec.json.encode({"metadata": {"name": "lists.example.com"}, "spec": spec})
        answer = await started.request("POST", DEFINITIONS, body=body)
        assert answer.code == 201, answer.json()
        await wait_until(started, LISTS, 200)
        yield started


def custom(**fields):
    return msgspec.json.encode({"apiVersion": "example.com/v1", "kind": "List", "metadata": {"name": "x"}, **fields})


async def _answered_meanwhile(server, gate, request):
    """Return the response to ``request`` after other requests were served while its step waited."""
    task = asyncio.create_task(request)
    await asyncio.wait_for(gate.reached.wait(), HANG_SECONDS)
    for path in ("/livez", CONFIG_MAPS):
        assert (await server.request("GET", path)).code == 200
    lease = {"metadata": {"name": "held"}, "spec": {"holderIdentity": "a"}}
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    assert (await server.request("POST", leases, body=msgspec.json.encode(lease))).code == 201
    assert not task.done()
    gate.released.set()
    return await task


@pytest.mark.interpreted
async def test_rules_beyond_the_allowance_leave_the_loop(server, gate):
    body = custom(n=list(range(200)))
    answer = await _answered_meanwhile(server, gate, server.request("POST", LISTS, body=body))
    assert (answer.code, gate.steps) == (201, ["prepare_and_validate"])


async def test_rules_within_the_allowance_stay_on_the_loop(server, gate):
    gate.released.set()
    assert (await server.request("POST", LISTS, body=custom(n=[1, 2, 3]))).code == 201
    assert gate.steps == []


@pytest.mark.interpreted
async def test_patterns_on_long_texts_leave_the_loop(server, gate):
    answer = await _answered_meanwhile(server, gate, server.request("POST", LISTS, body=custom(t="ab" * 5_000)))
    assert (answer.code, gate.steps) == (422, ["prepare_and_validate"])
    assert "should match '^(a|b)*c{500}$'" in answer.json()["message"]


@pytest.mark.interpreted
async def test_updates_beyond_the_allowance_leave_the_loop(server, gate):
    response = await server.request("POST", LISTS, body=custom(n=[1]))
    version = response.json()["metadata"]["resourceVersion"]
    body = msgspec.json.encode(
        {
            "apiVersion": "example.com/v1",
            "kind": "List",
            "metadata": {"name": "x", "resourceVersion": version},
            "n": list(range(200)),
        }
    )
    answer = await _answered_meanwhile(server, gate, server.request("PUT", f"{LISTS}/x", body=body))
    assert (answer.code, gate.steps) == (200, ["prepare_and_validate"])


@pytest.mark.interpreted
async def test_definitions_with_many_rules_leave_the_loop(server, gate):
    rules = [{"rule": f"self.t.contains('{number}') || self.t.size() < {number}"} for number in range(100)]
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"t": {"type": "string", "maxLength": 10}},
                "x-kubernetes-validations": rules,
            }
        },
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "rules", "kind": "Rule"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    body = msgspec.json.encode({"metadata": {"name": "rules.example.com"}, "spec": spec})
    answer = await _answered_meanwhile(server, gate, server.request("POST", DEFINITIONS, body=body))
    assert (answer.code, gate.steps) == (201, ["prepare_and_validate"])


@pytest.mark.interpreted
async def test_policies_beyond_the_allowance_leave_the_loop(server, gate, monkeypatch):
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["lists"]}
    expression = "object.n.all(a, object.n.all(b, a + b >= 0))"
    policy = {
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]},
    }
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    assert (await server.request("POST", POLICIES, body=msgspec.json.encode(policy))).code == 201
    bindings = POLICIES.replace("policies", "policybindings")
    assert (await server.request("POST", bindings, body=msgspec.json.encode(binding))).code == 201
    monkeypatch.setattr(workers, "LOOP_ALLOWANCE", 40_000)
    body = custom(n=list(range(40)))  # three rules cost the strategy as much as the policy
    task = asyncio.create_task(server.request("POST", LISTS, body=body))
    monkeypatch.setattr(workers, "LOOP_ALLOWANCE", 5_000)
    gate.released.set()
    answer = await task
    assert (answer.code, gate.steps[-1]) == (201, "validate")


@pytest.mark.interpreted
@pytest.mark.parametrize(("method", "path"), [("POST", CONFIG_MAPS), ("PATCH", f"{CONFIG_MAPS}/large?fieldManager=m")])
async def test_large_yaml_is_read_in_a_worker(server, monkeypatch, method, path):
    threads = []
    read_yaml = yaml_reader.read_yaml

    def recorded(raw):
        threads.append(threading.get_ident())
        return read_yaml(raw)

    monkeypatch.setattr(yaml_reader, "read_yaml", recorded)
    data = "".join(f"  k{number}: v\n" for number in range(2_000))
    kind = "application/yaml" if method == "POST" else "application/apply-patch+yaml"
    for text in (f"data:\n{data}", "data: {a: b}\n"):
        body = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: large}}\n{text}".encode()
        await server.request(method, path, body=body, headers={"content-type": kind})
        if method == "POST":
            await server.request("DELETE", f"{CONFIG_MAPS}/large")
    assert threads[0] != threading.get_ident()
    assert threads[-1] == threading.get_ident()


@pytest.mark.interpreted
async def test_large_stored_objects_are_compared_and_encoded_in_a_worker(server, monkeypatch):
    steps = []

    async def recorded(function, *args, **kwargs):
        steps.append(function.__name__)
        return function(*args, **kwargs)

    body = {"metadata": {"name": "large"}, "data": {f"k{number}": "v" for number in range(8_000)}}
    assert (await server.request("POST", CONFIG_MAPS, body=msgspec.json.encode(body))).code == 201
    monkeypatch.setattr(store, "in_worker", recorded)
    monkeypatch.setattr(write_pipeline, "in_worker", recorded)
    merge = {"content-type": "application/merge-patch+json"}
    for patch in (b'{"data":{"k0":"w"}}', b'{"data":{"k0":"w"}}'):
        answer = await server.request("PATCH", f"{CONFIG_MAPS}/large", body=patch, headers=merge)
        assert answer.code == 200
    unchanged = ["tree", "decode_and_convert", "after_mutation", "prepare_and_validate", "same_tree"]
    assert steps == [*unchanged, "stored", *unchanged]


async def test_deadline_ends_work_in_a_worker():
    started, ended = threading.Event(), threading.Event()

    def compute():
        started.set()
        try:
            while True:
                spend(1)
        except InterruptedWorkError:
            ended.set()
            raise

    async def handler(request):
        return await workers.in_worker(compute)

    clock = FakeClock()
    app = Application(errors()(request_info()(handler)), clock=clock, timeout_seconds=60)
    task = asyncio.create_task(Loopback(app).request("GET", "/api/v1/pods"))
    await asyncio.to_thread(started.wait)
    await clock.advance(62)
    assert (await task).code == 504
    await asyncio.to_thread(ended.wait)


async def test_expressions_are_interrupted_at_their_next_rounds():
    class AfterCharges:
        """Meter that interrupts at the thirtieth charge."""

        def __init__(self):
            self.charged = 0
            self.interruption = Interruption()

        def spend(self, units):
            self.charged += 1
            if self.charged == 30:
                self.interruption.set()
            self.interruption.spend(units)

    meter = AfterCharges()
    with metered(meter), pytest.raises(InterruptedWorkError):
        evaluated("l.all(a, l.all(b, a + b >= 0))", l=list(range(300)))
    assert meter.charged == 30
