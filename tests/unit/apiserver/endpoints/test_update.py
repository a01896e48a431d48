from __future__ import annotations

import asyncio

import pytest
from tests.unit.apiserver.writing import (
    APPLY_PATCH,
    CONFIG_MAPS,
    DEPLOYMENTS,
    MERGE_PATCH,
    Server,
    causes,
    deployment,
    pod_spec,
)

CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"
CRON_JOB_SPEC = {
    "schedule": "* * * * *",
    "jobTemplate": {"spec": {"template": {"spec": pod_spec(restartPolicy="Never")}}},
}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
A = f"{CONFIG_MAPS}/a"


async def test_update_replaces_the_object_except_its_identity():
    async with Server() as server:
        created = await server.make(metadata={"labels": {"x": "y"}}, data={"k": "v"})
        answer = await server.call("PUT", A, {"metadata": {"name": "a"}, "data": {"l": "w"}})
        assert answer.body["data"] == {"l": "w"}
        assert "labels" not in answer.body["metadata"]
        assert answer.body["metadata"]["uid"] == created["metadata"]["uid"]
        assert answer.body["metadata"]["creationTimestamp"] == created["metadata"]["creationTimestamp"]


async def test_noop_update_keeps_the_version_and_emits_no_event():
    async with Server() as server:
        created = await server.make(data={"k": "v", "l": "w"})
        seen = await server.events("/registry/configmaps/")
        await server.clock.advance(10)
        answer = await server.call("PUT", A, {"data": {"l": "w", "k": "v"}, "metadata": {"name": "a"}})
        assert (answer.code, answer.body) == (200, created)
        assert seen == []


async def test_stale_resource_version_is_a_conflict_before_validation():
    async with Server() as server:
        old = (await server.make())["metadata"]["resourceVersion"]
        await server.merge(A, {"data": {"k": "v"}})
        body = {"metadata": {"name": "a", "resourceVersion": old, "labels": {"x": "?"}}}
        answer = await server.call("PUT", A, body)
        assert (answer.code, answer.body["details"]) == (409, {"name": "a", "kind": "configmaps"})


async def test_update_with_an_invalid_resource_version_is_a_500():
    async with Server() as server:
        await server.make()
        answer = await server.call("PUT", A, {"metadata": {"name": "a", "resourceVersion": "x"}})
        assert (answer.code, answer.body["message"]) == (500, 'strconv.ParseUint: parsing "x": invalid syntax')
        answer = await server.call("PUT", A, {"metadata": {"name": "a", "resourceVersion": "9" * 20}})
        assert answer.body["message"].endswith("value out of range")


async def test_some_kinds_require_a_resource_version_on_update():
    async with Server() as server:
        await server.make(LEASES, spec={"holderIdentity": "x"})
        answer = await server.call("PUT", f"{LEASES}/a", {"metadata": {"name": "a"}})
        assert causes(answer) == [("FieldValueInvalid", "metadata.resourceVersion")]
        assert answer.body["details"]["kind"] == "leases"


async def test_update_creates_objects_of_kinds_that_allow_it():
    async with Server() as server:
        body = {"metadata": {"name": "a", "resourceVersion": "12"}, "spec": {"holderIdentity": "x"}}
        assert (await server.call("PUT", f"{LEASES}/a", body)).code == 201
        assert (await server.call("PUT", A, {"metadata": {"name": "a"}, "data": {"x y": "z"}})).code == 404


@pytest.mark.parametrize(
    ("method", "body", "media_type"),
    [
        ("PUT", {"metadata": {"name": "a%b"}}, "application/json"),
        ("PATCH", {}, MERGE_PATCH),
        ("PATCH", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a%b"}}, APPLY_PATCH),
        ("DELETE", None, "application/json"),
    ],
)
async def test_write_to_a_name_that_no_object_can_have_is_400(method, body, media_type):
    async with Server() as server:
        answer = await server.call(method, f"{CONFIG_MAPS}/a%b", body, media_type=media_type, query="fieldManager=one")
        message = """Name parameter invalid: "a%b": may not contain '%'"""
        assert (answer.code, answer.body["message"]) == (400, message)


async def test_create_on_update_keeps_the_deletion_timestamp_and_grace_period():
    deletion = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
    async with Server() as server:
        metadata = {"name": "a", "creationTimestamp": "2020-01-01T00:00:00Z", "selfLink": "/a", **deletion}
        answer = await server.call("PUT", f"{LEASES}/a", {"metadata": metadata})
        assert answer.code == 201
        assert deletion.items() <= answer.body["metadata"].items()
        assert answer.body["metadata"]["creationTimestamp"] != metadata["creationTimestamp"]
        assert "selfLink" not in answer.body["metadata"]


async def test_create_on_update_requires_the_create_permission():
    async with Server(forbidden_verb="create") as server:
        answer = await server.call("PUT", f"{LEASES}/a", {"metadata": {"name": "a"}})
        assert answer.code == 403
        assert answer.body["message"].startswith(
            'leases.coordination.k8s.io "a" is forbidden: User "tester" cannot create resource "leases"'
        )


async def test_update_with_another_uid_is_a_conflict():
    async with Server() as server:
        for path in (f"{LEASES}/a", A):
            answer = await server.call("PUT", path, {"metadata": {"name": "a", "uid": "other"}})
            assert answer.code == 409
        assert answer.body["message"].endswith("UID in precondition: other, UID in object meta: ")


async def test_update_rejects_a_name_or_namespace_other_than_that_of_the_path():
    async with Server() as server:
        await server.make()
        for metadata in ({"name": "b"}, {}, {"name": "a", "namespace": "other"}):
            assert (await server.call("PUT", A, {"metadata": metadata})).code == 400


async def test_update_restores_server_set_fields():
    async with Server() as server:
        created = await server.make()
        metadata = {"name": "a", "creationTimestamp": None, "selfLink": "/x", "generation": 9}
        answer = await server.call("PUT", A, {"metadata": metadata})
        assert answer.body == created


async def test_update_repeats_metadata_errors_as_upstream():
    async with Server() as server:
        await server.make()
        metadata_checks_on_update = server.registry.stored("configmaps").strategy.metadata_checks_on_update
        answer = await server.call("PUT", A, {"metadata": {"name": "a", "labels": {"a": "?"}}})
        assert causes(answer) == [("FieldValueInvalid", "metadata.labels")] * (2 + sum(metadata_checks_on_update))


@pytest.mark.parametrize(
    ("path", "spec", "repetitions"),
    [
        ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {"maxUnavailable": 1}, 2),
        (CRON_JOBS, CRON_JOB_SPEC, 2),
        ("/api/v1/namespaces", {}, 3),
    ],
)
async def test_status_update_repeats_metadata_errors_as_upstream(path, spec, repetitions):
    async with Server() as server:
        await server.make(path, spec=spec)
        answer = await server.merge(f"{path}/a/status", {"metadata": {"labels": {"a": "?"}}})
        assert causes(answer) == [("FieldValueInvalid", "metadata.labels")] * repetitions


async def test_cron_job_status_update_accepts_a_finalizer_without_a_domain():
    async with Server() as server:
        await server.make(CRON_JOBS, spec=CRON_JOB_SPEC)
        assert (await server.merge(f"{CRON_JOBS}/a", {"metadata": {"finalizers": ["x"]}})).code == 422
        assert (await server.merge(f"{CRON_JOBS}/a/status", {"metadata": {"finalizers": ["x"]}})).code == 200


async def test_terminating_object_accepts_no_new_finalizer_and_stays_terminating():
    async with Server() as server:
        await server.make(metadata={"finalizers": ["example.com/one"]})
        deleted = (await server.call("DELETE", A)).body
        body = {"metadata": {"name": "a", "finalizers": ["example.com/one", "example.com/two"]}}
        assert set(causes(await server.call("PUT", A, body))) == {("FieldValueForbidden", "metadata.finalizers")}
        cleared = {"metadata": {"deletionTimestamp": None, "deletionGracePeriodSeconds": None}}
        assert (await server.merge(A, cleared)).body == deleted


async def test_update_without_the_last_finalizer_removes_and_returns_the_object():
    async with Server() as server:
        await server.make(metadata={"finalizers": ["example.com/one"]})
        marked = (await server.call("DELETE", A)).body
        seen = await server.events("/registry/configmaps/")
        answer = await server.call("PUT", A, {"metadata": {"name": "a"}, "data": {"k": "last"}})
        assert (answer.code, answer.body["data"]) == (200, {"k": "last"})
        assert answer.body["metadata"]["resourceVersion"] == marked["metadata"]["resourceVersion"]
        assert [key for key, _ in seen] == ["-/registry/configmaps/default/a"]


async def test_dry_run_without_the_last_finalizer_keeps_the_object():
    async with Server() as server:
        await server.make(metadata={"finalizers": ["example.com/one"]})
        await server.call("DELETE", A)
        answer = await server.merge(A, {"metadata": {"finalizers": None}}, query="dryRun=All")
        assert "finalizers" not in answer.body["metadata"]
        assert (await server.call("GET", A)).body["metadata"]["finalizers"] == ["example.com/one"]


async def test_generation_increases_with_the_spec_only():
    path = f"{DEPLOYMENTS}/a"
    async with Server() as server:
        await server.make(DEPLOYMENTS, spec=deployment())
        status = await server.merge(f"{path}/status", {"status": {"replicas": 1}, "spec": {"replicas": 9}})
        assert (status.body["metadata"]["generation"], status.body["spec"]["replicas"]) == (1, 1)
        spec = await server.merge(path, {"spec": {"replicas": 2}, "status": {"replicas": 5}})
        assert (spec.body["metadata"]["generation"], spec.body["status"]["replicas"]) == (2, 1)


async def test_status_update_has_its_own_managed_fields_entry():
    path = f"{DEPLOYMENTS}/a"
    async with Server() as server:
        await server.make(DEPLOYMENTS, spec=deployment())
        answer = await server.merge(f"{path}/status", {"status": {"replicas": 1}})
        owned = {entry.get("subresource", ""): entry["fieldsV1"] for entry in answer.body["metadata"]["managedFields"]}
        assert owned["status"] == {"f:status": {"f:replicas": {}}}


async def test_status_update_of_a_missing_object_is_404():
    async with Server() as server:
        for method, body in (("PUT", {"metadata": {"name": "a"}}), ("PATCH", {})):
            answer = await server.call(method, f"{DEPLOYMENTS}/a/status", body, media_type="application/json")
            assert answer.code in (404, 415)


async def test_empty_managed_fields_reset_them_and_null_does_not():
    async with Server() as server:
        created = await server.make(data={"k": "v"})
        retained = await server.merge(A, {"metadata": {"managedFields": None}})
        assert retained.body == created
        body = {"metadata": {"name": "a", "managedFields": []}, "data": {"k": "v"}}
        assert "managedFields" not in (await server.call("PUT", A, body)).body["metadata"]


@pytest.mark.parametrize(
    ("entry", "cause"),
    [
        ({"manager": "x" * 129}, ("FieldValueTooLong", "metadata.managedFields[0].manager")),
        ({"manager": "a\x07"}, ("FieldValueInvalid", "metadata.managedFields[0].manager")),
        ({"subresource": "x" * 257}, ("FieldValueTooLong", "metadata.managedFields[0].subresource")),
    ],
)
async def test_update_validates_managers_in_managed_fields(entry, cause):
    written = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}, **entry}
    async with Server() as server:
        await server.make(data={"k": "v"})
        answer = await server.merge(A, {"metadata": {"managedFields": [written]}})
        assert (answer.code, set(causes(answer))) == (422, {cause})


async def test_concurrent_increments_are_not_lost():
    async with Server() as server:
        await server.make(data={"count": "0"})

        async def increment() -> None:
            while True:
                response = (await server.call("GET", A)).body
                response["data"]["count"] = str(int(response["data"]["count"]) + 1)
                if (await server.call("PUT", A, response)).code == 200:
                    return

        await asyncio.gather(*(increment() for _ in range(40)))
        assert (await server.call("GET", A)).body["data"] == {"count": "40"}


async def test_concurrent_unconditional_updates_succeed():
    async with Server() as server:
        await server.make()
        answers = await asyncio.gather(*(server.merge(A, {"data": {f"k{n}": "v"}}) for n in range(50)))
        assert {answer.code for answer in answers} == {200}
        assert len((await server.call("GET", A)).body["data"]) == 50


async def test_object_is_served_in_both_versions():
    v1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    v2 = v1.replace("/v1/", "/v2/")
    async with Server() as server:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
        await server.make(v1, spec={"maxReplicas": 5, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": target})
        changed = await server.merge(f"{v2}/a", {"spec": {"maxReplicas": 6}})
        assert changed.body["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 50
        read = (await server.call("GET", f"{v1}/a")).body
        assert (read["apiVersion"], read["spec"]["maxReplicas"]) == ("autoscaling/v1", 6)
        assert {entry["apiVersion"] for entry in read["metadata"]["managedFields"]} == {
            "autoscaling/v1",
            "autoscaling/v2",
        }
