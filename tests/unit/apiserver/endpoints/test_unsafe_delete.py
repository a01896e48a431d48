"""DELETE with ``ignoreStoreReadErrorWithClusterBreakingPotential`` on a store whose file was damaged."""

from __future__ import annotations

import json

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.controlplane.options import APIServerOptions
from steersman.storage.sqlite import SqliteStore
from steersman.storage.store import Put
from steersman.testing import InProcessAPIServer

MAPS = "/api/v1/namespaces/default/configmaps"
KEY = "/registry/configmaps/default"
OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"
CROC = {"impersonate-user": "croc"}


@pytest.fixture
async def damaged_store(tmp_path):
    """Holds a ConfigMap ``bad`` with a finalizer, some of whose bytes are damaged, and ``good``."""
    path, clock = tmp_path / "state.db", FakeClock()
    store = await SqliteStore.open(path, clock=clock)
    for name in ("bad", "good"):
        tree = {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "default", "uid": name, "finalizers": ["example.com/f"]},
            "data": {"marker": f"value of {name}"},
        }
        await store.txn([Put(f"{KEY}/{name}", json.dumps(tree, separators=(",", ":")).encode())])
    await store.close()
    path.write_bytes(path.read_bytes().replace(b"value of bad", b"value of bax"))
    return await SqliteStore.open(path, clock=clock)


@pytest.fixture
async def call(damaged_store, request):
    gates = {"AllowUnsafeMalformedObjectDeletion": getattr(request, "param", True)}
    options = APIServerOptions(ephemeral=True, feature_gates=gates, authorization_mode=["RBAC"])
    async with InProcessAPIServer(options=options, store=damaged_store, clock=FakeClock()) as server:

        async def call(method, target, *, tree=None, headers=None):
            body = None if tree is None else json.dumps(tree).encode()
            answer = await server.request(
                method, target, body=body, headers={"content-type": "application/json", **(headers or {})}
            )
            return answer.code, json.loads(answer.body)

        call.server = server
        yield call


async def test_corrupt_object_is_an_error_and_the_others_are_served(call):
    code, status = await call("GET", f"{MAPS}/bad")
    assert (code, status["reason"]) == (500, "InternalError")
    assert f"StorageError: corrupt object, Code: 7, Key: {KEY}/bad" in status["message"]
    assert (await call("GET", f"{MAPS}/good"))[0] == 200
    code, status = await call("GET", MAPS)
    assert (code, status["reason"]) == (500, "StorageReadError")
    assert [cause["field"] for cause in status["details"]["causes"]] == [f"{KEY}/bad"]
    metrics = (await call.server.request("GET", "/metrics")).body.decode()
    assert 'apiserver_storage_decode_errors_total{group="",resource="configmaps"} 1' in metrics


async def test_writes_of_a_corrupt_object_are_errors(call):
    tree = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "bad", "namespace": "default"}}
    for method, target in (("POST", MAPS), ("PUT", f"{MAPS}/bad"), ("DELETE", f"{MAPS}/bad")):
        code, status = await call(method, target, tree=None if method == "DELETE" else tree)
        assert (code, status["reason"]) == (500, "InternalError"), method
        assert "corrupt object" in status["message"]


async def test_option_deletes_a_corrupt_object_with_finalizers(call):
    code, status = await call("DELETE", f"{MAPS}/bad?{OPTION}=true")
    assert code == 200
    assert status["details"] == {"name": "bad", "kind": "configmaps"}
    assert (await call("GET", f"{MAPS}/bad"))[0] == 404
    code, result = await call("GET", MAPS)
    assert code == 200
    assert "good" in [item["metadata"]["name"] for item in result["items"]]
    assert (await call("DELETE", f"{MAPS}/bad?{OPTION}=true"))[0] == 404


async def test_option_requires_a_separate_verb(call):
    role = {
        "kind": "ClusterRole",
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "metadata": {"name": "deleter"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["delete"]}],
    }
    binding = {
        "kind": "ClusterRoleBinding",
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "metadata": {"name": "deleter"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "deleter"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "croc"}],
    }
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    assert (await call("POST", f"{rbac}/clusterroles", tree=role))[0] == 201
    assert (await call("POST", f"{rbac}/clusterrolebindings", tree=binding))[0] == 201
    code, status = await call("DELETE", f"{MAPS}/bad", tree={OPTION: True}, headers=CROC)
    assert (code, status["reason"]) == (403, "Forbidden")
    assert (
        'configmaps "bad" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason:'
        in (status["message"])
    )
    role["rules"][0]["verbs"].append("unsafe-delete-ignore-read-errors")
    assert (await call("PUT", f"{rbac}/clusterroles/deleter", tree=role))[0] == 200
    assert (await call("DELETE", f"{MAPS}/bad", tree={OPTION: True}, headers=CROC))[0] == 200


async def test_option_is_refused_for_readable_objects_and_collections(call):
    code, status = await call("DELETE", f"{MAPS}/good?{OPTION}=true")
    assert (code, status["reason"]) == (422, "Invalid")
    assert (
        "Invalid value: true: is exclusively used to delete corrupt object(s), try again by removing this option"
        in (status["message"])
    )
    code, status = await call("DELETE", f"{MAPS}?{OPTION}=true")
    assert code == 422
    assert "is not allowed with DELETECOLLECTION, try again after removing the option" in status["message"]


async def test_option_excludes_the_other_options(call):
    options = {
        OPTION: True,
        "dryRun": ["All"],
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Background",
        "preconditions": {"uid": "bad"},
    }
    code, status = await call("DELETE", f"{MAPS}/bad", tree=options)
    assert code == 422
    for name in ("dryRun", "gracePeriodSeconds", "propagationPolicy", "preconditions"):
        assert f"cannot be set together with .{name}" in status["message"]


@pytest.mark.parametrize("call", [False], indirect=True)
async def test_option_has_no_effect_without_the_feature_gate(call):
    code, status = await call("DELETE", f"{MAPS}/bad?{OPTION}=true")
    assert (code, status["reason"]) == (500, "InternalError")
    assert (await call("DELETE", f"{MAPS}/good?{OPTION}=true"))[0] == 200
