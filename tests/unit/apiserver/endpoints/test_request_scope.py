from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import CONFIG_MAPS, USER, AllowAllBut, Server, deployment

from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.managedfields.schema import UnknownVersionError
from steersman.apiserver.admission.chain import AdmissionChain
from steersman.apiserver.admission.interface import Operation
from steersman.apiserver.endpoints.request_scope import RequestScope, ServedVersions
from steersman.apiserver.generic.options import DeleteOptions, WriteOptions

SCALERS = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def _scope(server: Server, group: str, version: str, name: str, forbidden: str = "") -> RequestScope:
    served = server.registry.get(group, version, name)
    return RequestScope(
        served,
        admission=AdmissionChain(),
        authorizer=AllowAllBut(forbidden),
        versions=ServedVersions(served, server.registry.siblings(served)),
    )


async def test_context_has_user_time_and_field_manager():
    async with Server() as server:
        scope = _scope(server, "", "v1", "configmaps")
        request = server.request("POST", "/api/v1/namespaces/n/configmaps")
        ctx = scope.write_context(request, WriteOptions(dry_run=True))
        assert (ctx.user, ctx.namespace, ctx.version, ctx.dry_run) == (USER, "n", "v1", True)
        assert (ctx.group_resource, ctx.field_manager, ctx.now) == ("configmaps", "unit-test", server.clock.now())
        ctx.warn("careful")
        assert request.warnings.texts == ["careful"]


async def test_context_of_a_cluster_scoped_resource_has_no_namespace():
    async with Server() as server:
        scope = _scope(server, "", "v1", "namespaces")
        request = server.request("DELETE", "/api/v1/namespaces/n")
        ctx = scope.context(request, DeleteOptions())
        assert ctx.namespace == ""
        attributes = scope.delete_attributes(ctx, {"metadata": {"name": "n"}}, DeleteOptions(), "n")
        assert (attributes.operation, attributes.namespace, attributes.object) == (Operation.DELETE, "n", None)


async def test_create_on_update_requires_the_create_permission():
    async with Server() as server:
        request = server.request("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/a")
        _scope(server, "coordination.k8s.io", "v1", "leases").authorize_create(request)
        with pytest.raises(StatusError) as caught:
            _scope(server, "coordination.k8s.io", "v1", "leases", "create").authorize_create(request)
        assert caught.value.code == 403
        assert 'cannot create resource "leases" in API group "coordination.k8s.io"' in caught.value.status["message"]


async def test_object_of_another_kind_is_not_converted_to_the_storage_version():
    async with Server() as server:
        scope = _scope(server, "events.k8s.io", "v1", "events")
        tree = {"kind": "Other", "apiVersion": "events.k8s.io/v1", "metadata": {}, "regarding": {"name": "a"}}
        assert scope.to_storage_version(dict(tree)) == tree
        assert "regarding" not in scope.to_storage_version({**tree, "kind": "Event"})


async def test_converted_tree_shares_nothing_with_the_stored_one():
    async with Server() as server:
        scope = _scope(server, "", "v1", "configmaps")
        old = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "v"}}
        assert scope.in_request_version(old) is old
        shown = scope.to_request_version(old)
        assert shown == old
        assert shown["data"] is not old["data"]


async def test_versions_are_converted_on_read_and_write():
    async with Server() as server:
        scaler = {
            "metadata": {"name": "a"},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
                "maxReplicas": 3,
                "targetCPUUtilizationPercentage": 7,
            },
        }
        assert (await server.call("POST", SCALERS, scaler)).code == 201
        answer = await server.merge(f"{SCALERS}/a", {"spec": {"maxReplicas": 4}})
        assert (answer.body["apiVersion"], answer.body["spec"]["targetCPUUtilizationPercentage"]) == (
            "autoscaling/v1",
            7,
        )
        newer = (await server.call("GET", f"{SCALERS}/a".replace("v1", "v2"))).body
        assert newer["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 7
        scope = _scope(server, "autoscaling", "v1", "horizontalpodautoscalers")
        converted = scope.versions.convert(answer.body, "autoscaling/v2")
        assert converted["spec"]["metrics"] == newer["spec"]["metrics"]
        assert answer.body["spec"]["targetCPUUtilizationPercentage"] == 7
        assert scope.versions.struct("autoscaling/v2") is not scope.struct
        with pytest.raises(UnknownVersionError):
            scope.versions.struct("autoscaling/v3")
        with pytest.raises(UnknownVersionError):
            scope.versions.convert({"metadata": {}}, "autoscaling/v3")


async def test_managed_fields_have_the_version_of_their_writer():
    async with Server() as server:
        scaler = {
            "apiVersion": "autoscaling/v1",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "a"},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 3},
        }
        applied = await server.apply(f"{SCALERS}/a", scaler)
        assert applied.code == 201
        newer = {**scaler, "apiVersion": "autoscaling/v2", "spec": {**scaler["spec"], "maxReplicas": 5}}
        refused = await server.apply(f"{SCALERS}/a".replace("v1", "v2"), newer, manager="two")
        assert refused.body["message"] == 'Apply failed with 1 conflict: conflict with "one": .spec.maxReplicas'
        taken = await server.apply(f"{SCALERS}/a".replace("v1", "v2"), newer, manager="two", query="force=true")
        owners = [(entry["manager"], entry["apiVersion"]) for entry in taken.body["metadata"]["managedFields"]]
        assert owners == [("one", "autoscaling/v1"), ("two", "autoscaling/v2")]


async def test_event_is_served_by_two_groups():
    async with Server() as server:
        event = {
            "metadata": {"name": "a"},
            "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "example.com/c",
            "reportingInstance": "i",
            "action": "Test",
            "reason": "Test",
            "type": "Normal",
            "note": "n",
        }
        response = await server.call("POST", EVENTS, event)
        assert response.code == 201, response.body
        core = (await server.call("GET", "/api/v1/namespaces/default/events/a")).body
        assert (core["message"], core["involvedObject"]["name"]) == ("n", "p")
        assert response.body["note"] == "n"


async def test_empty_lists_with_omitempty_are_not_stored():
    async with Server() as server:
        spec = deployment()
        spec["template"]["spec"]["volumes"] = []
        created = await server.make("/apis/apps/v1/namespaces/default/deployments", spec=spec)
        assert "volumes" not in created["spec"]["template"]["spec"]


@pytest.mark.parametrize(("versions", "shown"), [({}, "null"), ({"versions": None}, "null"), ({"versions": []}, "[]")])
async def test_empty_required_list_reaches_validation_as_sent(versions, shown):
    async with Server() as server:
        definition = {"metadata": {"name": "hats.example.com"}, "spec": {"group": "example.com", **versions}}
        response = await server.call("POST", DEFINITIONS, definition)
        assert f"spec.versions: Invalid value: {shown}: must have exactly one" in response.body["message"]


async def test_some_kinds_have_no_managed_fields(monkeypatch):
    async with Server() as server:
        monkeypatch.setattr(type(server.registry.get("", "v1", "configmaps").strategy), "has_managed_fields", False)
        created = await server.make(
            metadata={"managedFields": [{"manager": "x", "operation": "Update"}]}, data={"a": "b"}
        )
        assert "managedFields" not in created["metadata"]
        assert "managedFields" not in (await server.merge(f"{CONFIG_MAPS}/a", {"data": {"a": "c"}})).body["metadata"]
