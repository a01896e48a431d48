from __future__ import annotations

import asyncio

import pytest
from tests.unit.apiserver.writing import PODS, Server, pod_spec

POD = f"{PODS}/a"
EVICTION = f"{POD}/eviction"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
LABELS = {"x": "y"}
ALLOWS_ONE = {"disruptionsAllowed": 1}


def eviction(name: str = "a", **delete_options: object) -> dict[str, object]:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return {**body, "deleteOptions": delete_options} if delete_options else body


async def make_running(server: Server, name: str = "a", *, ready: str = "True") -> None:
    await server.make(PODS, metadata={"name": name, "labels": LABELS}, spec=pod_spec(nodeName="n"))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    assert (await server.merge(f"{PODS}/{name}/status", {"status": status})).code == 200


async def make_budget(server: Server, name: str = "b", *, policy: str | None = None, **status: object) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": LABELS}, "unhealthyPodEvictionPolicy": policy}
    await server.make(BUDGETS, metadata={"name": name}, spec=spec)
    healthy = {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, **status}
    assert (await server.merge(f"{BUDGETS}/{name}/status", {"status": healthy})).code == 200


async def test_eviction_without_budget_deletes_the_pod_with_a_condition():
    async with Server() as server:
        await make_running(server)
        answer = await server.call("POST", EVICTION, eviction(gracePeriodSeconds=20))
        assert answer.code == 201
        assert answer.body == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        pod = (await server.call("GET", POD)).body
        assert pod["metadata"]["deletionGracePeriodSeconds"] == 20
        assert pod["status"]["conditions"][-1] == {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": pod["metadata"]["creationTimestamp"],
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }


async def test_eviction_of_an_unscheduled_pod_removes_it():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("POST", EVICTION, eviction())).code == 201
        assert (await server.call("GET", POD)).code == 404


async def test_eviction_accepts_policy_v1beta1():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("POST", EVICTION, {**eviction(), "apiVersion": "policy/v1beta1"})).code == 201
        assert (await server.call("POST", EVICTION, {**eviction(), "apiVersion": "policy/v2"})).code == 400


async def test_eviction_name_must_equal_the_name_in_the_path():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        for name in ("b", ""):
            answer = await server.call("POST", EVICTION, eviction(name))
            assert (answer.code, answer.body["message"]) == (400, "name in URL does not match name in Eviction object")


async def test_eviction_of_a_missing_pod_is_404():
    async with Server() as server:
        answer = await server.call("POST", EVICTION, eviction())
        assert (answer.code, answer.body["message"]) == (404, 'pods "a" not found')


async def test_eviction_without_allowed_disruptions_is_429():
    async with Server() as server:
        await make_running(server)
        await make_budget(server)
        answer = await server.call("POST", EVICTION, eviction())
        assert (answer.code, answer.body["details"]["causes"][0]["reason"]) == (429, "DisruptionBudget")
        assert "deletionTimestamp" not in (await server.call("GET", POD)).body["metadata"]


async def test_eviction_decrements_allowed_disruptions():
    async with Server() as server:
        await make_running(server)
        await make_budget(server, **ALLOWS_ONE)
        assert (await server.call("POST", EVICTION, eviction())).code == 201
        assert "deletionTimestamp" in (await server.call("GET", POD)).body["metadata"]
        budget = (await server.call("GET", f"{BUDGETS}/b")).body
        assert list(budget["status"]["disruptedPods"]) == ["a"]
        assert budget["status"]["disruptionsAllowed"] == 0
        owners = [(one["manager"], one.get("subresource")) for one in budget["metadata"]["managedFields"]]
        assert ("kube-apiserver", "status") in owners


async def test_concurrent_evictions_use_a_disruption_each():
    async with Server() as server:
        await make_budget(server, **ALLOWS_ONE)
        await make_running(server)
        await make_running(server, "b")
        answers = await asyncio.gather(
            server.call("POST", EVICTION, eviction()),
            server.call("POST", f"{PODS}/b/eviction", eviction("b")),
        )
        assert sorted(answer.code for answer in answers) == [201, 429]


async def test_eviction_of_a_pod_with_two_budgets_is_500():
    async with Server() as server:
        await make_running(server)
        await make_budget(server, "b", **ALLOWS_ONE)
        await make_budget(server, "c", **ALLOWS_ONE)
        answer = await server.call("POST", EVICTION, eviction())
        assert (answer.code, answer.body.get("reason")) == (500, None)


@pytest.mark.parametrize(
    ("policy", "status", "code"),
    [
        ("AlwaysAllow", {"currentHealthy": 0}, 201),
        (None, {"currentHealthy": 0}, 429),
        (None, {"currentHealthy": 1}, 201),
    ],
)
async def test_unready_pod_is_evicted_by_the_unhealthy_pod_eviction_policy(policy, status, code):
    async with Server() as server:
        await make_running(server, ready="False")
        await make_budget(server, policy=policy, **status)
        assert (await server.call("POST", EVICTION, eviction())).code == code
        assert "disruptedPods" not in (await server.call("GET", f"{BUDGETS}/b")).body["status"]


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
async def test_budgets_ignore_pods_that_do_not_run(phase):
    async with Server() as server:
        await make_running(server)
        await make_budget(server)
        await server.merge(f"{POD}/status", {"status": {"phase": phase}})
        assert (await server.call("POST", EVICTION, eviction())).code == 201


async def test_terminating_pod_can_be_evicted_again():
    async with Server() as server:
        await make_running(server)
        await make_budget(server, **ALLOWS_ONE)
        await server.call("POST", EVICTION, eviction())
        assert (await server.call("POST", EVICTION, eviction())).code == 201


async def test_eviction_dry_run_deletes_nothing_and_keeps_the_budget():
    async with Server() as server:
        await make_running(server)
        await make_budget(server, **ALLOWS_ONE)
        pod, budget = (await server.call("GET", POD)).body, (await server.call("GET", f"{BUDGETS}/b")).body
        assert (await server.call("POST", EVICTION, eviction(), query="dryRun=All")).code == 201
        assert (await server.call("POST", EVICTION, eviction(dryRun=["All"]))).code == 201
        assert (await server.call("GET", POD)).body == pod
        assert (await server.call("GET", f"{BUDGETS}/b")).body == budget


async def test_eviction_dry_run_without_allowed_disruptions_is_429():
    async with Server() as server:
        await make_running(server)
        await make_budget(server)
        assert (await server.call("POST", EVICTION, eviction(), query="dryRun=All")).code == 429


async def test_eviction_dry_run_of_query_and_body_must_agree():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        answer = await server.call("POST", EVICTION, eviction(dryRun=["All", "All"]), query="dryRun=All")
        assert answer.code == 500
        assert answer.body["message"] == "Non-matching dry-run options in request and content: [All] and [All All]"


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("preconditions", [{"uid": "other"}, {"resourceVersion": "1"}])
async def test_eviction_preconditions_reject_another_uid_or_version(scheduled, preconditions):
    async with Server() as server:
        await server.make(PODS, spec=pod_spec(nodeName="n" if scheduled else ""))
        answer = await server.call("POST", EVICTION, eviction(preconditions=preconditions))
        assert (answer.code, answer.body["details"]) == (409, {"name": "a", "kind": "Pod"})
        assert "conditions" not in (await server.call("GET", POD)).body["status"]


async def test_eviction_with_matching_preconditions_deletes_the_pod():
    async with Server() as server:
        await make_running(server)
        metadata = (await server.call("GET", POD)).body["metadata"]
        preconditions = {name: metadata[name] for name in ("uid", "resourceVersion")}
        assert (await server.call("POST", EVICTION, eviction(preconditions=preconditions))).code == 201
        assert "deletionTimestamp" in (await server.call("GET", POD)).body["metadata"]


@pytest.mark.interpreted
async def test_eviction_is_retried_when_the_pod_changes(monkeypatch):
    async with Server() as server:
        await server.make(PODS, metadata={"labels": LABELS}, spec=pod_spec(nodeName="n"))
        await make_budget(server)
        objects = server.registry.stored("pods").objects
        update, meddled = type(objects).update, []

        async def meddle(self, ctx, name, change):
            if not meddled:
                meddled.append(name)
                status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
                assert (await server.merge(f"{POD}/status", {"status": status})).code == 200
            return await update(self, ctx, name, change)

        monkeypatch.setattr(type(objects), "update", meddle)
        assert (await server.call("POST", EVICTION, eviction())).code == 429
        assert meddled == ["a"]


@pytest.mark.interpreted
async def test_eviction_of_an_unready_pod_that_changes_is_429(monkeypatch):
    async with Server() as server:
        await make_running(server, ready="False")
        await make_budget(server)
        objects = server.registry.stored("pods").objects
        update, meddled = type(objects).update, []

        async def meddle(self, ctx, name, change):
            if not meddled:
                meddled.append(name)
                status = {"conditions": [{"type": "Ready", "status": "True"}]}
                assert (await server.merge(f"{POD}/status", {"status": status})).code == 200
            return await update(self, ctx, name, change)

        monkeypatch.setattr(type(objects), "update", meddle)
        answer = await server.call("POST", EVICTION, eviction())
        assert (answer.code, answer.body["details"]["retryAfterSeconds"]) == (429, 10)


async def test_evictions_support_create_only():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("GET", EVICTION)).code == 405


@pytest.mark.parametrize(
    ("options", "causes"),
    [
        ({"propagationPolicy": "Some"}, ["propagationPolicy"]),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, ["propagationPolicy"]),
        ({"dryRun": ["Some"], "propagationPolicy": "Some"}, ["propagationPolicy", "dryRun"]),
    ],
)
async def test_eviction_with_invalid_delete_options_is_422(options, causes):
    async with Server() as server:
        await make_running(server)
        answer = await server.call("POST", EVICTION, eviction(**options))
        assert (answer.code, answer.body["details"]["kind"]) == (422, "DeleteOptions")
        assert [cause["field"] for cause in answer.body["details"]["causes"]] == causes
        assert "deletionTimestamp" not in (await server.call("GET", POD)).body["metadata"]
