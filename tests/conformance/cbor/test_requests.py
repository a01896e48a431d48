"""CBOR as clients meet it, with the feature gate and without: every verb, custom resources, errors, audit."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.apimachinery.cbor import SELF_DESCRIBED, decode, encode_object
from steersman.controlplane.options import APIServerOptions
from steersman.testing import InProcessAPIServer

CBOR = "application/cbor"
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
BOTH = {"content-type": CBOR, "accept": CBOR}

WIDGET_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "number"}}}},
                    }
                },
            }
        ],
    },
}


@asynccontextmanager
async def serving(**gates):
    options = APIServerOptions(ephemeral=True, feature_gates=gates)
    async with InProcessAPIServer(options=options) as server:
        yield server


@pytest.fixture
async def server():
    async with serving(CBORServingAndStorage=True) as server:
        yield server


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def send(server, method, target, tree, **headers):
    """Return status code and decoded body of a request with a body in CBOR."""
    answer = await server.request(method, target, body=encode_object(tree), headers={**BOTH, **headers})
    assert dict(answer.headers)[b"content-type"] == CBOR.encode()
    assert answer.body.startswith(SELF_DESCRIBED)
    return answer.code, decode(answer.body)


async def read(server, target, accept=CBOR):
    answer = await server.request("GET", target, headers={"accept": accept})
    return answer.code, decode(answer.body)


async def test_create_get_update_and_delete_have_the_content_of_json(server):
    code, created = await send(server, "POST", MAPS, config_map("a", k="v"))
    assert (code, created["data"]) == (201, {"k": "v"})
    json_answer = await server.request("GET", f"{MAPS}/a")
    assert (await read(server, f"{MAPS}/a")) == (200, json_answer.json())
    code, updated = await send(server, "PUT", f"{MAPS}/a", {**created, "data": {"k": "w"}})
    assert (code, updated["data"]) == (200, {"k": "w"})
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "other"}}
    assert (await send(server, "DELETE", f"{MAPS}/a", options))[0] == 409
    code, status = await send(server, "DELETE", f"{MAPS}/a", {"apiVersion": "v1", "kind": "DeleteOptions"})
    assert (code, status["status"]) == (200, "Success")


async def test_lists_and_metadata_have_the_content_of_json(server):
    for name in ("a", "b"):
        await send(server, "POST", MAPS, config_map(name))
    for form in ("", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"):
        expected = (await server.request("GET", MAPS, headers={"accept": f"application/json{form}"})).json()
        assert await read(server, MAPS, f"{CBOR}{form}") == (200, expected)


async def test_tables_are_not_served_in_cbor(server):
    table = "as=Table;g=meta.k8s.io;v=v1"
    answer = await server.request("GET", MAPS, headers={"accept": f"{CBOR};{table},application/json;{table}"})
    assert answer.json()["kind"] == "Table"
    answer = await server.request("GET", MAPS, headers={"accept": f"{CBOR};{table}"})
    assert (answer.code, answer.json()["message"].rpartition(", ")[2]) == (406, CBOR)


async def test_watch_is_a_sequence_of_events(server):
    await send(server, "POST", MAPS, config_map("a"))
    async with server.open("GET", f"{MAPS}?watch=1&timeoutSeconds=1", headers={"accept": CBOR}) as exchange:
        assert dict(exchange.headers)[b"content-type"] == b"application/cbor-seq"
        piece = await anext(aiter(exchange))
    assert piece.startswith(SELF_DESCRIBED)
    event = decode(piece)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


async def test_apply_takes_an_intent_in_cbor(server):
    target = f"{MAPS}/a?fieldManager=me"
    patch = {"content-type": "application/apply-patch+cbor"}
    code, applied = await send(server, "PATCH", target, config_map("a", k="v"), **patch)
    assert (code, applied["data"], applied["metadata"]["managedFields"][0]["operation"]) == (201, {"k": "v"}, "Apply")
    code, applied = await send(server, "PATCH", target, config_map("a"), **patch)
    assert (code, applied.get("data")) == (200, None)
    code, status = await send(server, "PATCH", target, [], **patch)
    assert code == 400
    assert status["message"].startswith("error decoding YAML: cbor: cannot unmarshal array")


async def test_bytes_are_base64_whether_tagged_or_not(server):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"plain": "aGk="}}
    raw = encode_object(secret).replace(b"\x44aGk=", b"\xd6\x42hi")
    answer = await server.request("POST", "/api/v1/namespaces/default/secrets", body=raw, headers=BOTH)
    assert decode(answer.body)["data"] == {"plain": "aGk="}


async def test_unknown_fields_follow_field_validation_and_duplicate_keys_are_always_refused(server):
    unknown = {**config_map("a"), "extra": 1}
    code, status = await send(server, "POST", f"{MAPS}?fieldValidation=Strict", unknown)
    assert (code, 'unknown field "extra"' in status["message"]) == (400, True)
    answer = await server.request("POST", MAPS, body=encode_object(unknown), headers=BOTH)
    assert answer.code == 201
    assert b'unknown field \\"extra\\"' in dict(answer.headers)[b"warning"]
    raw = encode_object(config_map("b", k="v", l="w")).replace(b"\x41l", b"\x41k")
    answer = await server.request("POST", f"{MAPS}?fieldValidation=Ignore", body=raw, headers=BOTH)
    assert answer.code == 400
    assert decode(answer.body)["message"].startswith(
        "the object provided is unrecognized (must be of type ConfigMap): unable to determine group/version/kind:"
        ' cbor: found duplicate map key "k" at map element index 1 (d9d9f7'
    )


async def test_custom_resources_are_served_in_cbor(server):
    answer = await server.request(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=json.dumps(WIDGET_DEFINITION).encode()
    )
    assert answer.code == 201
    async with asyncio.timeout(HANG_SECONDS):
        while (await server.request("GET", WIDGETS)).code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1.5}}
    code, created = await send(server, "POST", WIDGETS, widget)
    assert (code, created["spec"]) == (201, {"size": 1.5})
    code, listed = await read(server, WIDGETS)
    assert [item["spec"] for item in listed["items"]] == [{"size": 1.5}]
    patch = {"content-type": "application/apply-patch+cbor"}
    applied = {**widget, "spec": {"size": 2}}
    code, applied = await send(server, "PATCH", f"{WIDGETS}/w?fieldManager=me&force=1", applied, **patch)
    assert (code, applied["spec"]) == (200, {"size": 2})
    code, status = await send(server, "POST", WIDGETS, widget, **{"content-type": "text/plain"})
    assert (code, status["message"].rpartition(": ")[2]) == (
        415,
        "application/json, application/yaml, application/cbor",
    )


async def test_reviews_take_and_return_cbor(server):
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}},
    }
    code, answer = await send(server, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert (code, answer["status"]["allowed"]) == (201, True)


async def test_discovery_of_built_in_versions_is_served_in_cbor(server):
    expected = (await server.request("GET", "/apis/apps/v1")).json()
    assert await read(server, "/apis/apps/v1") == (200, expected)
    assert (await server.request("GET", "/apis", headers={"accept": CBOR})).code == 406


@pytest.mark.parametrize("raw", [b"", b"\xff", b"\x9f" * 10_000, b"\xd9\xd9\xf7\xa1\x41\x61", b"{}", b"\xf6", b"\xa0"])
async def test_hostile_bodies_are_400(server, raw):
    for method, target in (("POST", MAPS), ("PUT", f"{MAPS}/a"), ("DELETE", f"{MAPS}/a")):
        answer = await server.request(method, target, body=raw, headers=BOTH)
        expected = (404,) if method == "DELETE" and raw in (b"", b"\xf6", b"\xa0") else (400, 404, 422)
        assert answer.code in expected, (method, answer.body)


async def test_media_types_without_the_gate_are_refused():
    async with serving() as server:
        answer = await server.request("POST", MAPS, body=encode_object(config_map("a")), headers={"content-type": CBOR})
        assert (answer.code, answer.json()["reason"]) == (415, "UnsupportedMediaType")
        assert "cbor" not in answer.json()["message"]
        answer = await server.request("GET", MAPS, headers={"accept": CBOR})
        assert (answer.code, "cbor" in answer.body.decode()) == (406, False)
        patch = {"content-type": "application/apply-patch+cbor"}
        answer = await server.request("PATCH", f"{MAPS}/a?fieldManager=me", body=b"\xa0", headers=patch)
        assert answer.code == 415
        answer = await server.request("GET", MAPS, headers={"accept": f"{CBOR},application/json"})
        assert dict(answer.headers)[b"content-type"] == b"application/json"


async def test_servers_of_one_process_offer_what_their_own_gates_say():
    async with serving() as without, serving(CBORServingAndStorage=True) as with_gate:
        for server, code in ((without, 406), (with_gate, 200), (without, 406)):
            assert (await server.request("GET", MAPS, headers={"accept": CBOR})).code == code
