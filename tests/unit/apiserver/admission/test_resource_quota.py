from __future__ import annotations

import asyncio
import threading

import pytest
from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import CONFIG_MAPS

from steersman.apiserver.admission import resource_quota
from steersman.apiserver.admission.interface import Operation
from steersman.apiserver.admission.resource_quota import ResourceQuota
from steersman.apiserver.workers import LARGE_BYTES

QUOTAS = "/api/v1/namespaces/default/resourcequotas"


def quotas():
    return Plugged(lambda stored: ResourceQuota(stored("resourcequotas")))


async def limit(server, name="q", *, used=None, spec=None, **hard):
    hard = {key.replace("__", "/").replace("_", "."): value for key, value in hard.items()}
    await server.make(QUOTAS, metadata={"name": name}, spec={"hard": hard, **(spec or {})})
    taken = {**dict.fromkeys(hard, "0"), **(used or {})}
    answer = await server.merge(f"{QUOTAS}/{name}/status", {"status": {"hard": hard, "used": taken}})
    assert answer.code == 200, answer.body


async def used(server, name="q"):
    return (await server.call("GET", f"{QUOTAS}/{name}")).body["status"]["used"]


async def make(server, name, path=CONFIG_MAPS, query="", **parts):
    return await server.call("POST", path, {"metadata": {"name": name}, **parts}, query=query)


async def test_usage_is_charged_and_excess_rejected():
    async with quotas() as server:
        await limit(server, configmaps="2")
        assert [(await make(server, name)).code for name in "ab"] == [201, 201]
        assert await used(server) == {"configmaps": "2"}
        assert refusal(await make(server, "c")) == (
            "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"
        )
        assert await used(server) == {"configmaps": "2"}


async def test_used_amounts_are_owned_by_the_server():
    async with quotas() as server:
        await limit(server, configmaps="2", secrets="1")
        await make(server, "a")
        owners = (await server.call("GET", f"{QUOTAS}/q")).body["metadata"]["managedFields"]
        own = [entry for entry in owners if entry["manager"] == "kube-apiserver"]
        assert [entry["fieldsV1"] for entry in own] == [{"f:status": {"f:used": {"f:configmaps": {}}}}]
        assert own[0]["subresource"] == "status"


async def test_dry_run_is_checked_and_not_charged():
    async with quotas() as server:
        await limit(server, configmaps="1")
        assert (await make(server, "a", query="dryRun=All")).code == 201
        assert await used(server) == {"configmaps": "0"}
        await make(server, "a")
        assert (await make(server, "b", query="dryRun=All")).code == 403


async def test_status_is_authoritative_over_the_spec():
    async with quotas() as server:
        await server.make(QUOTAS, metadata={"name": "q"}, spec={"hard": {"configmaps": "0"}})
        assert (await make(server, "a")).code == 201
        await server.merge(f"{QUOTAS}/q/status", {"status": {"hard": {"configmaps": "2"}}})
        assert refusal(await make(server, "b")) == "status unknown for quota: q, resources: configmaps"


async def test_status_of_claim_is_charged_beyond_the_limit():
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    async with quotas() as server:
        await limit(server, requests_storage="2Gi")
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        assert (await make(server, "a", claims, spec=spec)).code == 201
        answer = await server.merge(f"{claims}/a/status", {"status": {"allocatedResources": {"storage": "5Gi"}}})
        assert answer.code == 200, answer.body
        assert await used(server) == {"requests.storage": "5Gi"}


async def test_updates_are_not_charged():
    async with quotas() as server:
        await server.make(CONFIG_MAPS)
        await limit(server, configmaps="0")
        assert (await server.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})).code == 200


async def test_all_quotas_apply_and_a_rejection_charges_none():
    async with quotas() as server:
        await limit(server, "wide", configmaps="9")
        await limit(server, "narrow", configmaps="1")
        assert (await make(server, "a")).code == 201
        assert "exceeded quota: narrow" in refusal(await make(server, "b"))
        assert [await used(server, name) for name in ("wide", "narrow")] == [{"configmaps": "1"}] * 2


async def test_any_resource_is_counted_by_object_count():
    async with quotas() as server:
        await limit(server, count__leases_coordination_k8s_io="1")
        leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
        assert (await make(server, "a", leases)).code == 201
        assert "count/leases.coordination.k8s.io=1" in refusal(await make(server, "b", leases))


async def test_pods_must_specify_quota_resources():
    async with quotas() as server:
        await limit(server, requests_cpu="1", limits_memory="1Gi")
        assert refusal(await server.pod()) == (
            "failed quota: q: must specify limits.memory for: c; requests.cpu for: c"
        )
        resources = {"limits": {"cpu": "500m", "memory": "10Mi"}}
        assert (await server.pod(containers=[{"name": "c", "image": "i", "resources": resources}])).code == 201
        assert await used(server) == {"requests.cpu": "500m", "limits.memory": "10Mi"}


PODS = "/api/v1/namespaces/default/pods"
MEASURED = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "200m"}}}]


async def test_pod_update_that_changes_its_scope_is_charged_whole():
    async with quotas() as server:
        await limit(server, "ending", requests_cpu="300m", pods="9", spec={"scopes": ["Terminating"]})
        await limit(server, "lasting", pods="9", spec={"scopes": ["NotTerminating"]})
        names = ["a", "b"]
        assert [(await server.pod(name, containers=MEASURED)).code for name in names] == [201, 201]
        assert [await used(server, name) for name in ("ending", "lasting")] == [
            {"pods": "0", "requests.cpu": "0"},
            {"pods": "2"},
        ]
        deadline = {"spec": {"activeDeadlineSeconds": 60}}
        assert (await server.merge(f"{PODS}/{names[0]}", deadline)).code == 200
        assert await used(server, "ending") == {"pods": "1", "requests.cpu": "200m"}
        assert refusal(await server.merge(f"{PODS}/{names[1]}", deadline)) == (
            "exceeded quota: ending, requested: requests.cpu=200m, used: requests.cpu=200m, limited: requests.cpu=300m"
        )
        shorter = {"spec": {"activeDeadlineSeconds": 30}}
        assert (await server.merge(f"{PODS}/{names[0]}", shorter)).code == 200
        assert await used(server, "ending") == {"pods": "1", "requests.cpu": "200m"}


async def test_pod_update_within_its_scope_is_not_charged():
    async with quotas() as server:
        name = (await server.pod()).body["metadata"]["name"]
        await limit(server, pods="0", requests_cpu="0")
        labels = {"metadata": {"labels": {"a": "b"}}}
        assert (await server.merge(f"{PODS}/{name}", labels)).code == 200


SCOPE_SELECTORS = [
    ({"operator": "In", "values": ["high"]}, {"high"}),
    ({"operator": "NotIn", "values": ["low"]}, {"high", ""}),
    ({"operator": "NotIn", "values": ["high"]}, {"low", ""}),
    ({"operator": "Exists"}, {"high", "low"}),
    ({"operator": "DoesNotExist"}, {""}),
]


@pytest.mark.parametrize(("selector", "counted"), SCOPE_SELECTORS)
async def test_scope_selectors_of_priority_classes(selector, counted):
    async with quotas() as server:
        expression = {"scopeName": "PriorityClass", **selector}
        await limit(server, pods="9", spec={"scopeSelector": {"matchExpressions": [expression]}})
        taken = 0
        for name in ("high", "low", ""):
            assert (await server.pod(f"p{name}", **({"priorityClassName": name} if name else {}))).code == 201
            taken += name in counted
            assert (await used(server))["pods"] == str(taken)


async def test_concurrent_creates_do_not_exceed_the_quota():
    async with quotas() as server:
        await limit(server, configmaps="5")
        answers = await asyncio.gather(*(make(server, f"a{i}") for i in range(12)))
        assert sorted(answer.code for answer in answers) == [201] * 5 + [403] * 7
        assert await used(server) == {"configmaps": "5"}


async def test_namespace_without_quotas_is_unlimited():
    async with quotas() as server:
        assert (await make(server, "a")).code == 201
        assert (await server.pod()).code == 201


@pytest.mark.parametrize(
    ("path", "subresource", "operation", "handled"),
    [
        (("", "configmaps"), "", Operation.CREATE, True),
        (("", "configmaps"), "", Operation.UPDATE, False),
        (("", "configmaps"), "", Operation.DELETE, False),
        (("", "pods"), "", Operation.UPDATE, True),
        (("", "pods"), "resize", Operation.UPDATE, True),
        (("", "pods"), "binding", Operation.CREATE, False),
        (("", "persistentvolumeclaims"), "", Operation.UPDATE, True),
        (("", "events"), "", Operation.CREATE, False),
        (("", "nodes"), "", Operation.CREATE, False),
    ],
)
async def test_handles_counted_writes(path, subresource, operation, handled):
    async with quotas() as server:
        plugin = ResourceQuota(server.registry.stored("resourcequotas"))
        group, name = path
        assert plugin.handles(server.registry.resource(group, "v1", name), subresource, operation) is handled


@pytest.mark.interpreted
@pytest.mark.parametrize(("size", "is_in_worker"), [(1, False), (LARGE_BYTES + 1, True)])
async def test_usage_of_large_objects_is_computed_in_a_worker(monkeypatch, size, is_in_worker):
    new_charge, threads = resource_quota._QuotaCharge, set()

    def recorded(*args):
        threads.add(threading.get_ident())
        return new_charge(*args)

    monkeypatch.setattr(resource_quota, "_QuotaCharge", recorded)
    async with quotas() as server:
        await limit(server, configmaps="1")
        assert (await make(server, "a", data={"k": "v" * size})).code == 201
        assert (threads == {threading.get_ident()}) is not is_in_worker
        assert await used(server) == {"configmaps": "1"}
        assert refusal(await make(server, "b", data={"k": "v" * size})).startswith("exceeded quota: q")


PODS = "/api/v1/namespaces/default/pods"
LIMITED = {
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "ResourceQuotaConfiguration",
    "limitedResources": [
        {"resource": "configmaps", "matchContains": ["config"]},
        {
            "resource": "pods",
            "matchScopes": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high", "top"]}],
        },
    ],
}


def limited_quotas():
    return Plugged(lambda stored: ResourceQuota(stored("resourcequotas"), configuration=LIMITED))


async def test_limited_resource_needs_a_quota():
    async with limited_quotas() as server:
        assert refusal(await make(server, "a")) == "insufficient quota to consume: configmaps,count/configmaps"
        await limit(server, configmaps="1", count__configmaps="1")
        assert (await make(server, "a")).code == 201
        assert (await server.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})).code == 200
        secrets = CONFIG_MAPS.replace("configmaps", "secrets")
        assert (await make(server, "a", secrets)).code == 201


async def test_limited_scope_needs_a_quota_of_the_scope():
    async with limited_quotas() as server:
        spec = {"containers": [{"name": "c", "image": "i"}], "priorityClassName": "top"}
        answer = await make(server, "a", PODS, spec=spec)
        text = "insufficient quota to match these scopes: [{PriorityClass In [high top]}]"
        assert (answer.code, answer.body["message"]) == (500, text)
        assert (await make(server, "b", PODS, spec={**spec, "priorityClassName": "low"})).code == 201
        selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}
        await limit(server, pods="1", spec={"scopeSelector": selector})
        assert (await make(server, "a", PODS, spec=spec)).code == 201
