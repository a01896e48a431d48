from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import DEPLOYMENTS, JSON_PATCH, STRATEGIC_PATCH, Server, causes, deployment

OBJECT = f"{DEPLOYMENTS}/a"
SCALE = f"{OBJECT}/scale"


async def test_scale_has_replicas_and_selector_of_its_object():
    selector = {
        "matchLabels": {"x": "y"},
        "matchExpressions": [
            {"key": "z", "operator": "NotIn", "values": ["c", "b"]},
            {"key": "w", "operator": "DoesNotExist"},
        ],
    }
    async with Server() as server:
        new_deployment = await server.make(DEPLOYMENTS, spec=deployment(replicas=2, selector=selector))
        scale = (await server.call("GET", SCALE)).body
        assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
        assert scale["spec"] == {"replicas": 2}
        assert scale["status"] == {"replicas": 0, "selector": "!w,x=y,z notin (b,c)"}
        retained = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        assert scale["metadata"] == {name: new_deployment["metadata"][name] for name in retained}


async def test_scale_of_a_replication_controller_has_a_map_selector():
    controllers = "/api/v1/namespaces/default/replicationcontrollers"
    spec = deployment(replicas=1, selector={"b": "c", "a": "b"})
    spec["template"]["metadata"]["labels"] = {"a": "b", "b": "c"}
    async with Server() as server:
        await server.make(controllers, spec=spec)
        scale = (await server.call("GET", f"{controllers}/a/scale")).body
        assert scale["status"]["selector"] == "a=b,b=c"


@pytest.mark.parametrize(
    ("media_type", "patch"),
    [
        ("application/merge-patch+json", {"spec": {"replicas": 5}}),
        (STRATEGIC_PATCH, {"spec": {"replicas": 5}}),
        (JSON_PATCH, [{"op": "replace", "path": "/spec/replicas", "value": 5}]),
    ],
)
async def test_every_patch_type_of_a_scale_changes_the_object(media_type, patch):
    async with Server() as server:
        await server.make(DEPLOYMENTS, spec=deployment(replicas=2))
        answer = await server.call("PATCH", SCALE, patch, media_type=media_type)
        assert (answer.code, answer.body["spec"]) == (200, {"replicas": 5})
        response = (await server.call("GET", OBJECT)).body
        assert (response["spec"]["replicas"], response["metadata"]["generation"]) == (5, 2)


async def test_scale_without_replicas_is_zero():
    async with Server() as server:
        await server.make(DEPLOYMENTS, spec=deployment(replicas=2))
        assert (await server.call("PUT", SCALE, {"metadata": {"name": "a"}})).body["spec"] == {}
        assert (await server.call("GET", OBJECT)).body["spec"]["replicas"] == 0


async def test_scale_has_the_resource_version_of_its_object():
    async with Server() as server:
        old = (await server.make(DEPLOYMENTS, spec=deployment()))["metadata"]["resourceVersion"]
        await server.merge(SCALE, {"spec": {"replicas": 2}})
        answer = await server.merge(SCALE, {"metadata": {"resourceVersion": old}, "spec": {"replicas": 3}})
        assert (answer.code, answer.body["details"]["kind"]) == (409, "deployments")


async def test_scale_validation():
    async with Server() as server:
        await server.make(DEPLOYMENTS, spec=deployment())
        assert causes(await server.merge(SCALE, {"spec": {"replicas": -1}})) == [("FieldValueInvalid", "spec.replicas")]
        assert (await server.call("PUT", SCALE, {"metadata": {"name": "b"}})).code == 400
        other = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
        assert (await server.call("PUT", SCALE, other)).code == 400
        old = {"apiVersion": "apps/v1beta1", "kind": "Scale", "metadata": {"name": "a"}}
        assert "does not match the expected API version" in (await server.call("PUT", SCALE, old)).body["message"]
        uid = {"metadata": {"name": "a", "uid": "other"}, "spec": {"replicas": 1}}
        assert (await server.call("PUT", SCALE, uid)).code == 409


async def test_scale_update_ignores_labels():
    async with Server() as server:
        await server.make(DEPLOYMENTS, spec=deployment())
        await server.merge(SCALE, {"metadata": {"labels": {"n": "o"}}, "spec": {"replicas": 4}})
        assert "labels" not in (await server.call("GET", OBJECT)).body["metadata"]


async def test_scale_dry_run_stores_nothing():
    async with Server() as server:
        new_deployment = await server.make(DEPLOYMENTS, spec=deployment(replicas=2))
        answer = await server.merge(SCALE, {"spec": {"replicas": 5}}, query="dryRun=All")
        assert answer.body["spec"] == {"replicas": 5}
        assert (await server.call("GET", OBJECT)).body == new_deployment


async def test_applied_scale_owns_the_replicas_of_the_object():
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": deployment(replicas=2)}
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 5}}
    async with Server() as server:
        await server.apply(OBJECT, config, manager="owner")
        assert causes(await server.apply(SCALE, scale, manager="scaler")) == [
            ("FieldManagerConflict", ".spec.replicas")
        ]
        assert (await server.apply(SCALE, scale, manager="scaler", query="force=true")).code == 200
        answer = await server.apply(OBJECT, config, manager="owner")
        assert 'conflict with "scaler" with subresource "scale"' in answer.body["message"]


async def test_scale_of_a_missing_object_is_404():
    async with Server() as server:
        assert (await server.call("GET", SCALE)).code == 404
        assert (await server.call("PUT", SCALE, {"metadata": {"name": "a"}})).code == 404
        config = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}}
        assert (await server.apply(SCALE, config)).code == 404
