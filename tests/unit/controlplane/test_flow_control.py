"""Priority and fairness of a whole server."""

import asyncio
import json

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.apiserver.server.loopback import Answer
from steersman.asynckit.clock import FakeClock
from steersman.controlplane import flow_control
from steersman.controlplane.options import APIServerOptions
from steersman.testing import InProcessAPIServer

API = "/apis/flowcontrol.apiserver.k8s.io/v1"


async def dangling(server, name: str) -> dict:
    tree = (await server.request("GET", f"{API}/flowschemas/{name}")).json()
    return next(iter((tree.get("status") or {}).get("conditions") or [{}]))


async def until(server, name: str, status: str) -> dict:
    async with asyncio.timeout(HANG_SECONDS):
        while (result := await dangling(server, name)).get("status") != status:  # noqa: ASYNC110 — the server's loop
            await asyncio.sleep(0.005)  # noqa: TID251
    return result


async def test_schemas_have_their_levels_when_the_server_is_ready(server):
    result = await dangling(server, "global-default")
    assert (result["status"], result["reason"]) == ("False", "Found")
    tree = (await server.request("GET", f"{API}/flowschemas/exempt")).json()
    owner = tree["metadata"]["managedFields"][0]
    assert (owner["manager"], owner["operation"], owner["subresource"]) == (
        "api-priority-and-fairness-config-consumer-v1",
        "Apply",
        "status",
    )


async def test_flow_schema_is_dangling_until_its_level_exists(server):
    spec = {"priorityLevelConfiguration": {"name": "mine"}, "rules": []}
    body = json.dumps({"metadata": {"name": "s"}, "spec": spec}).encode()
    assert (await server.request("POST", f"{API}/flowschemas", body=body)).code == 201
    await until(server, "s", "True")
    level = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    body = json.dumps({"metadata": {"name": "mine"}, "spec": level}).encode()
    assert (await server.request("POST", f"{API}/prioritylevelconfigurations", body=body)).code == 201
    await until(server, "s", "False")
    assert "mine" in server.core._flow_control.control.levels
    await server.request("DELETE", f"{API}/prioritylevelconfigurations/mine")
    await until(server, "s", "True")


async def test_answers_name_schema_and_level(server):
    answer = await server.request("GET", "/api/v1/namespaces/default")
    schema = (await server.request("GET", f"{API}/flowschemas/exempt")).json()["metadata"]["uid"]
    level = (await server.request("GET", f"{API}/prioritylevelconfigurations/exempt")).json()["metadata"]["uid"]
    assert answer.header("x-kubernetes-pf-flowschema-uid") == schema
    assert answer.header("x-kubernetes-pf-prioritylevel-uid") == level
    refused = await server.anonymous().request("GET", "/api/v1/secrets")
    assert (refused.code, bool(refused.header("x-kubernetes-pf-flowschema-uid"))) == (403, True)


async def test_metrics_have_priority_levels(server):
    text = (await server.request("GET", "/metrics")).body.decode()
    assert 'apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-low"} 245' in text
    assert 'apiserver_flowcontrol_dispatched_requests_total{flow_schema="exempt",priority_level="exempt"}' in text


@pytest.mark.parametrize(
    "options",
    [
        {"enable_priority_and_fairness": False},
        {"max_requests_inflight": 0, "max_mutating_requests_inflight": 0},
    ],
)
async def test_priority_and_fairness_can_be_disabled(options):
    async with InProcessAPIServer(options=APIServerOptions(ephemeral=True, **options)) as server:
        answer = await server.request("GET", "/api/v1/namespaces/default")
        assert answer.header("x-kubernetes-pf-flowschema-uid") == ""
        assert "apiserver_flowcontrol" not in (await server.request("GET", "/metrics")).body.decode()


async def test_seats_are_lent_periodically():
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock) as server:
        levels = server.core._flow_control.control.levels
        levels["workload-high"].begin(90, clock.monotonic())
        await clock.advance(10.5)
        assert levels["workload-high"].limit > levels["workload-high"].limits.nominal
        levels["workload-high"].finish(90, clock.monotonic())


async def test_rejected_condition_write_is_retried(server, monkeypatch, caplog):
    client, answers = server.core.client, [500]
    request = client.request

    async def refuse_once(method, target, **more):
        if method == "PATCH" and answers:
            return Answer(answers.pop(), [], b"no")
        return await request(method, target, **more)

    monkeypatch.setattr(client, "request", refuse_once)
    monkeypatch.setattr(flow_control, "_RETRY_SECONDS", 0.0)
    body = json.dumps({"metadata": {"name": "s"}, "spec": {"priorityLevelConfiguration": {"name": "x"}, "rules": []}})
    await server.request("POST", f"{API}/flowschemas", body=body.encode())
    await until(server, "s", "True")
    assert "trying again" in caplog.text


async def test_dumps_describe_the_request_itself_and_are_not_listed(server):
    prefix = "/debug/api_priority_and_fairness"
    levels = await server.request("GET", f"{prefix}/dump_priority_levels")
    assert dict(levels.headers)[b"content-type"] == b"text/plain; charset=utf-8"
    assert "exempt,            0,            false,  false,       0,               1," in levels.body.decode()
    queues = (await server.request("GET", f"{prefix}/dump_queues")).body.decode().splitlines()
    assert {line.partition(",")[0] for line in queues[1:]}.isdisjoint({"exempt", "catch-all"})
    path = f"{prefix}/dump_requests"
    [_, own] = (await server.request("GET", f"{path}?includeRequestDetails=1")).body.decode().splitlines()
    assert path in own
    assert prefix not in (await server.request("GET", "/")).body.decode()
