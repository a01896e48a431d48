"""Reviews and tokens through a whole server."""

import json

import pytest

from steersman.apiserver.server.loopback import Loopback
from steersman.controlplane.options import APIServerOptions
from steersman.testing import InProcessAPIServer

TOKEN = "/api/v1/namespaces/default/serviceaccounts/robot/token"


@pytest.fixture
async def server():
    async with InProcessAPIServer() as started:
        body = json.dumps({"metadata": {"name": "robot"}}).encode()
        assert (await started.request("POST", "/api/v1/namespaces/default/serviceaccounts", body=body)).code == 201
        yield started


async def post(server, path, tree, code=201):
    answer = await server.request("POST", path, body=json.dumps(tree).encode())
    assert answer.code == code, answer.body
    return answer.json()


async def test_requested_token_is_valid_until_its_account_is_deleted(server):
    token = (await post(server, TOKEN, {"spec": {}}))["status"]["token"]
    robot = Loopback(server.core.app, headers={"authorization": f"Bearer {token}"})
    answer = await robot.request("GET", "/apis")
    assert answer.code == 200
    refused = await robot.request("GET", "/api/v1/nodes")
    assert 'User "system:serviceaccount:default:robot" cannot list resource' in refused.json()["message"]
    await server.request("DELETE", "/api/v1/namespaces/default/serviceaccounts/robot")
    assert (await robot.request("GET", "/apis")).code == 401


async def test_reviews_return_user_and_permission(server):
    authn, authz = "/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1"
    token = (await post(server, TOKEN, {"spec": {}}))["status"]["token"]
    review = await post(server, f"{authn}/tokenreviews", {"spec": {"token": token}})
    assert review["status"]["user"]["username"] == "system:serviceaccount:default:robot"
    me = await post(server, f"{authn}/selfsubjectreviews", {})
    assert me["status"]["userInfo"]["username"] == "system:apiserver"
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    assert (await post(server, f"{authz}/selfsubjectaccessreviews", {"spec": spec}))["status"] == {"allowed": True}
    response = await post(server, f"{authz}/subjectaccessreviews", {"spec": {**spec, "user": "alice"}})
    assert response["status"] == {"allowed": False}
    local = f"{authz}/namespaces/default/localsubjectaccessreviews"
    within = {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}, "user": "alice"}
    assert (await post(server, local, {"spec": within}))["status"] == {"allowed": False}
    rules = await post(server, f"{authz}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})
    assert {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} in rules["status"]["resourceRules"]


async def test_node_joins_with_a_bootstrap_token():
    data = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true"}
    secret = {
        "metadata": {"name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": data,
    }
    headers = {"authorization": "Bearer abcdef.0123456789abcdef"}
    codes = []
    for enabled in (False, True):
        options = APIServerOptions(ephemeral=True, enable_bootstrap_token_auth=enabled)
        async with InProcessAPIServer(options=options) as server:
            await post(server, "/api/v1/namespaces/kube-system/secrets", secret)
            codes.append((await Loopback(server.core.app, headers=headers).request("GET", "/apis")).code)
    assert codes == [401, 200]
