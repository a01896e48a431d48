from __future__ import annotations

import json

from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response
from tests.unit.apiserver.writing import PODS, Server, pod_spec

from steersman.testing import InProcessAPIServer

BINDING = f"{PODS}/a/binding"
BODY = {"metadata": {"name": "a"}, "target": {"name": "n"}}


async def test_posted_body_must_be_of_the_kind():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("POST", BINDING, {**BODY, "kind": "Pod", "apiVersion": "v1"})).code == 400
        assert (await server.call("POST", BINDING, {**BODY, "kind": "Binding", "apiVersion": "v2"})).code == 400


async def test_posted_body_must_be_of_the_namespace():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        answer = await server.call("POST", BINDING, {**BODY, "metadata": {"name": "a", "namespace": "other"}})
        assert answer.code == 400


async def test_unknown_fields_of_a_posted_body_warn():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("POST", BINDING, {**BODY, "n": 1}, query="fieldValidation=Strict")).code == 400
        assert (await server.call("POST", BINDING, {**BODY, "n": 1})).warnings == ['unknown field "n"']


async def test_post_to_a_missing_namespace_is_404():
    async with Server() as server:
        answer = await server.call("POST", "/api/v1/namespaces/none/pods/a/binding", BODY)
        assert (answer.code, answer.body["details"]["kind"]) == (404, "namespaces")


async def test_invalid_options_are_rejected():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("POST", BINDING, BODY, query="dryRun=Some")).code == 422
        assert (await server.call("POST", BINDING, BODY, headers={"accept": "text/plain"})).code == 406


async def test_admission_sees_managed_fields_of_a_posted_object():
    reviewed = []

    async def allow(_, review):
        reviewed.append(review["request"]["object"])
        return http_response({**review, "response": {"uid": review["request"]["uid"], "allowed": True}})

    async with InProcessAPIServer() as server, WebhookServer(allow) as hook:

        async def post(path, tree):
            answer = await server.request("POST", path, body=json.dumps(tree).encode())
            assert answer.code == 201, answer.body

        webhook = {
            "name": "seen.example.com",
            "clientConfig": {"url": f"{hook.url}/seen", "caBundle": ca_bundle()},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["*/*"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
        }
        kinds = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        await post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
        await post(PODS, {"metadata": {"name": "a"}, "spec": {**pod_spec(), "serviceAccountName": "robot"}})
        await post(kinds, {"metadata": {"name": "seen"}, "webhooks": [webhook]})
        await post("/api/v1/namespaces/default/serviceaccounts/robot/token", {"spec": {"audiences": ["x"]}})
        await post(BINDING, {**BODY, "target": {"kind": "Node", "name": "n"}})
        await post(f"{PODS}/a/eviction", {"metadata": {"name": "a"}, "deleteOptions": {"gracePeriodSeconds": 0}})
    [token, binding, eviction] = [tree["metadata"]["managedFields"][0] for tree in reviewed]
    assert token["fieldsV1"] == {"f:spec": {"f:audiences": {}, "f:expirationSeconds": {}}}
    assert binding["fieldsV1"] == {"f:target": {}}
    assert eviction["fieldsV1"] == {"f:deleteOptions": {".": {}, "f:gracePeriodSeconds": {}}}
    assert [entry["subresource"] for entry in (token, binding, eviction)] == ["token", "binding", "eviction"]
