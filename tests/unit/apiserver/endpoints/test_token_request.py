"""Tokens for service accounts."""

import base64
import json
from datetime import UTC, datetime

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.controlplane.options import APIServerOptions
from steersman.testing import InProcessAPIServer

NAMESPACE = "/api/v1/namespaces/default"
TOKEN = f"{NAMESPACE}/serviceaccounts/robot/token"


async def post(server, path, tree):
    answer = await server.request("POST", path, body=json.dumps(tree).encode())
    return answer.code, answer.json()


async def start(**options):
    clock = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
    server = InProcessAPIServer(options=APIServerOptions(ephemeral=True, **options), clock=clock)
    await server.__aenter__()
    assert (await post(server, f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "robot"}}))[0] == 201
    return server


@pytest.fixture
async def server():
    started = await start()
    yield started
    await started.__aexit__(None, None, None)


def claims(token: str):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


async def add(server, kind, name, **more):
    code, created = await post(server, f"{NAMESPACE}/{kind}", {"metadata": {"name": name}, **more})
    assert code == 201, created
    return created["metadata"]["uid"]


async def test_token_defaults_to_one_hour_and_the_server_audience(server):
    code, request = await post(server, TOKEN, {"spec": {}})
    assert code == 201
    assert request["spec"] == {
        "audiences": ["https://kubernetes.default.svc"],
        "boundObjectRef": None,
        "expirationSeconds": 3600,
    }
    assert request["status"]["expirationTimestamp"] == "2030-01-01T01:00:00Z"
    review = claims(request["status"]["token"])
    assert review["exp"] - review["iat"] == 3600
    assert review["sub"] == "system:serviceaccount:default:robot"
    assert request["metadata"]["uid"] == review["kubernetes.io"]["serviceaccount"]["uid"]


@pytest.mark.parametrize(
    ("tree", "code", "text"),
    [
        ({"spec": {"expirationSeconds": 599}}, 422, "less than 10 minutes"),
        ({"spec": {"expirationSeconds": 2**32 + 1}}, 422, "larger than 2^32 seconds"),
        ({"metadata": {"name": "other"}, "spec": {}}, 422, "must match the service account name"),
        ({"metadata": {"namespace": "other"}, "spec": {}}, 400, "does not match the namespace"),
        (
            {"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "m"}}},
            400,
            "/v1, Kind=ConfigMap",
        ),
        ({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "a/v1", "name": "m"}}}, 400, "a/v1, Kind=Pod"),
        (
            {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "m"}}},
            404,
            'secrets "m" not found',
        ),
        ({"spec": {"boundObjectRef": {"kind": "Node", "apiVersion": "v1"}}}, 400, "Name parameter required."),
    ],
)
async def test_invalid_token_requests_are_rejected(server, tree, code, text):
    refused, status = await post(server, TOKEN, tree)
    assert (refused, text in status["message"]) == (code, True)


async def test_token_request_for_a_missing_account_is_404(server):
    code, _ = await post(server, TOKEN.replace("robot", "nobody"), {"spec": {}})
    assert code == 404


async def test_token_request_with_the_uid_of_another_account_is_a_conflict(server):
    code, status = await post(server, TOKEN, {"metadata": {"uid": "other"}, "spec": {}})
    assert (code, status["reason"]) == (409, "Conflict")
    assert status["details"] == {"group": "authentication.k8s.io", "kind": "TokenRequest", "name": "robot"}
    uid = (await server.request("GET", f"{NAMESPACE}/serviceaccounts/robot")).json()["metadata"]["uid"]
    assert (await post(server, TOKEN, {"metadata": {"uid": uid}, "spec": {}}))[0] == 201


async def test_token_is_bound_by_name_and_uid(server):
    uid = await add(server, "secrets", "s")
    ref = {"kind": "Secret", "apiVersion": "v1", "name": "s"}
    _, request = await post(server, TOKEN, {"spec": {"boundObjectRef": ref}})
    assert claims(request["status"]["token"])["kubernetes.io"]["secret"] == {"name": "s", "uid": uid}
    code, _ = await post(server, TOKEN, {"spec": {"boundObjectRef": {**ref, "uid": "x"}}})
    assert code == 409


async def test_pod_token_has_its_node_and_an_extended_expiration(server):
    containers = [{"name": "c", "image": "i"}]
    await add(server, "pods", "p", spec={"serviceAccountName": "robot", "nodeName": "n", "containers": containers})
    ref = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    _, request = await post(server, TOKEN, {"spec": {"boundObjectRef": ref, "expirationSeconds": 3607}})
    review = claims(request["status"]["token"])
    assert review["kubernetes.io"]["node"] == {"name": "n"}
    assert review["kubernetes.io"]["warnafter"] == review["iat"] + 3607
    assert review["exp"] - review["iat"] == 365 * 24 * 3600
    assert request["status"]["expirationTimestamp"] == "2030-01-01T01:00:07Z"
    code, refused = await post(server, TOKEN.replace("robot", "default"), {"spec": {"boundObjectRef": ref}})
    assert code == 404
    await add(server, "serviceaccounts", "default")
    code, refused = await post(server, TOKEN.replace("robot", "default"), {"spec": {"boundObjectRef": ref}})
    assert (code, "different serviceaccount name" in refused["message"]) == (400, True)


async def test_token_can_be_bound_to_a_node(server):
    _, node = await post(server, "/api/v1/nodes", {"metadata": {"name": "n"}})
    ref = {"kind": "Node", "apiVersion": "v1", "name": "n"}
    code, request = await post(server, TOKEN, {"spec": {"boundObjectRef": ref}})
    assert code == 201
    assert claims(request["status"]["token"])["kubernetes.io"]["node"]["uid"] == node["metadata"]["uid"]


async def test_long_expirations_are_shortened_with_a_warning():
    server = await start(service_account_max_token_expiration_seconds=3600.0)
    answer = await server.request("POST", TOKEN, body=b'{"spec":{"expirationSeconds":7200}}')
    assert "requested expiration of 7200 seconds shortened to 3600 seconds" in answer.header("warning")
    assert answer.json()["spec"]["expirationSeconds"] == 3600
    await server.__aexit__(None, None, None)
