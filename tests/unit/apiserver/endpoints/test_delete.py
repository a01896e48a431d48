from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import CONFIG_MAPS, Server, causes

from steersman.apiserver.generic.strategy import Strategy

A = f"{CONFIG_MAPS}/a"
NAMESPACE = "/api/v1/namespaces/n"


async def test_delete_returns_a_status_with_name_and_uid():
    async with Server() as server:
        uid = (await server.make())["metadata"]["uid"]
        answer = await server.call("DELETE", A)
        assert (answer.code, answer.body["status"]) == (200, "Success")
        assert answer.body["details"] == {"name": "a", "kind": "configmaps", "uid": uid}
        assert (await server.call("DELETE", A)).code == 404


async def test_delete_of_some_kinds_returns_the_object():
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    async with Server() as server:
        await server.make(accounts)
        answer = await server.call("DELETE", f"{accounts}/a")
        assert answer.body["kind"] == "ServiceAccount"
        assert answer.body["metadata"]["resourceVersion"] == str(server.store.revision)


async def test_delete_of_an_object_with_finalizers_marks_it_once():
    async with Server() as server:
        await server.make(metadata={"finalizers": ["example.com/f"]})
        first = await server.call("DELETE", A)
        assert first.body["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
        assert first.body["metadata"]["deletionGracePeriodSeconds"] == 0
        await server.clock.advance(60)
        assert (await server.call("DELETE", A)).body == first.body


@pytest.mark.parametrize(
    ("query", "finalizers"),
    [
        ("propagationPolicy=Orphan", ["orphan"]),
        ("propagationPolicy=Foreground", ["foregroundDeletion"]),
        ("orphanDependents=true", ["orphan"]),
    ],
)
async def test_orphan_and_foreground_policies_become_finalizers(query, finalizers):
    async with Server() as server:
        await server.make()
        answer = await server.call("DELETE", A, query=query)
        assert answer.body["metadata"]["finalizers"] == finalizers


async def test_later_propagation_policy_replaces_an_earlier_one():
    async with Server() as server:
        await server.make()
        await server.call("DELETE", A, query="propagationPolicy=Foreground")
        orphaned = await server.call("DELETE", A, query="propagationPolicy=Orphan")
        assert orphaned.body["metadata"]["finalizers"] == ["orphan"]
        assert (await server.call("DELETE", A, query="propagationPolicy=Background")).body["status"] == "Success"
        assert (await server.call("GET", A)).code == 404


async def test_delete_body_takes_precedence_over_the_query():
    async with Server() as server:
        await server.make()
        assert (await server.call("DELETE", A, {}, query="dryRun=All")).code == 200
        assert (await server.call("GET", A)).code == 404


async def test_delete_dry_run_keeps_the_object():
    async with Server() as server:
        created = await server.make()
        answer = await server.call("DELETE", A, query="dryRun=All&propagationPolicy=Orphan")
        assert answer.body["metadata"]["finalizers"] == ["orphan"]
        assert answer.body["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
        assert (await server.call("DELETE", A, {"dryRun": ["All"]})).body["status"] == "Success"
        assert (await server.call("GET", A)).body == created


async def test_delete_preconditions_reject_another_uid_or_version():
    async with Server() as server:
        metadata = (await server.make())["metadata"]
        for preconditions in ({"uid": "other"}, {"uid": metadata["uid"], "resourceVersion": "1"}):
            answer = await server.call("DELETE", A, {"preconditions": preconditions})
            assert (answer.code, answer.body["details"]) == (409, {"name": "a", "kind": "ConfigMap"})
        right = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        assert (await server.call("DELETE", A, {"preconditions": right})).code == 200


async def test_delete_rejects_bodies_other_than_delete_options():
    async with Server() as server:
        await server.make()
        assert (await server.call("DELETE", A, b"{")).code == 400
        assert (await server.call("DELETE", A, {"apiVersion": "v1", "kind": "ConfigMap"})).code == 400
        assert (await server.call("DELETE", A, {"gracePeriodSeconds": "soon"})).code == 400
        assert (await server.call("DELETE", A, {}, media_type="text/plain")).code == 415
        both = {"propagationPolicy": "Orphan", "orphanDependents": True}
        assert causes(await server.call("DELETE", A, both)) == [("FieldValueInvalid", "propagationPolicy")]


async def test_delete_of_a_job_orphans_its_pods_by_default_with_a_warning():
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    async with Server() as server:
        await server.make(jobs, spec={"template": template})
        answer = await server.call("DELETE", f"{jobs}/a")
        assert answer.warnings[0].startswith("child pods are preserved by default")
        assert answer.body["metadata"]["finalizers"] == ["orphan"]
        quiet = await server.call("DELETE", f"{jobs}/a", query="propagationPolicy=Background")
        assert quiet.warnings == []


async def test_delete_of_a_namespace_sets_phase_terminating():
    async with Server() as server:
        await server.make("/api/v1/namespaces", metadata={"name": "n", "finalizers": ["example.com/f"]})
        terminating = await server.call("DELETE", NAMESPACE)
        assert terminating.body["status"] == {"phase": "Terminating"}
        assert "deletionGracePeriodSeconds" not in terminating.body["metadata"]
        assert (await server.call("DELETE", NAMESPACE)).body == terminating.body
        refused = await server.call("POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": "a"}})
        assert (refused.code, causes(refused)) == (403, [("NamespaceTerminating", "metadata.namespace")])
        body = {"metadata": {"name": "n", "finalizers": ["example.com/f"]}, "spec": {"finalizers": []}}
        assert (await server.call("PUT", f"{NAMESPACE}/finalize", body)).body["spec"] == {}
        assert (await server.call("GET", NAMESPACE)).code == 200
        await server.merge(NAMESPACE, {"metadata": {"finalizers": None}})
        assert (await server.call("GET", NAMESPACE)).code == 404


async def test_update_keeps_namespace_spec_finalizers():
    async with Server() as server:
        await server.make("/api/v1/namespaces", metadata={"name": "n"})
        body = {"metadata": {"name": "n"}, "spec": {"finalizers": []}}
        assert (await server.call("PUT", NAMESPACE, body)).body["spec"] == {"finalizers": ["kubernetes"]}


async def test_system_namespaces_cannot_be_deleted():
    async with Server() as server:
        answer = await server.call("DELETE", "/api/v1/namespaces/default", query="dryRun=All")
        assert answer.body["message"] == 'namespaces "default" is forbidden: this namespace may not be deleted'


class _Graceful(Strategy):
    group_resource = "configmaps"
    returns_deleted_object = True

    def grace_period_seconds(self, ctx, obj, requested_seconds):
        return 30 if requested_seconds is None else requested_seconds


async def test_grace_period_can_be_shortened_and_zero_removes_the_object():
    async with Server(strategies={"configmaps": _Graceful}) as server:
        await server.make()
        seen = await server.events("/registry/configmaps/")
        first = (await server.call("DELETE", A)).body["metadata"]
        assert (first["deletionGracePeriodSeconds"], first["deletionTimestamp"]) == (30, "2026-01-01T00:00:30Z")
        longer = (await server.call("DELETE", A, query="gracePeriodSeconds=60")).body["metadata"]
        assert longer == first
        shorter = (await server.call("DELETE", A, query="gracePeriodSeconds=-5")).body["metadata"]
        assert (shorter["deletionGracePeriodSeconds"], shorter["deletionTimestamp"]) == (1, "2026-01-01T00:00:01Z")
        removed = await server.call("DELETE", A, query="gracePeriodSeconds=0")
        assert removed.body["metadata"]["deletionGracePeriodSeconds"] == 0
        key = "/registry/configmaps/default/a"
        assert [change for change, _ in seen] == [key, key, key, f"-{key}"]


async def test_huge_grace_period_is_no_server_error():
    async with Server(strategies={"configmaps": _Graceful}) as server:
        await server.make()
        answer = await server.call("DELETE", A, {"gracePeriodSeconds": 2**62})
        assert answer.body["metadata"]["deletionGracePeriodSeconds"] == 2**62
        assert (await server.call("DELETE", A, {"gracePeriodSeconds": 2**61})).code == 200


async def test_pending_delete_with_orphan_dependents_false_is_202():
    async with Server(strategies={"configmaps": _Graceful}) as server:
        await server.make()
        assert (await server.call("DELETE", A, {"orphanDependents": False})).code == 202
