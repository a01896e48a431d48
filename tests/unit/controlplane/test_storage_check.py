"""Check of stored values against what kube-apiserver reads."""

from __future__ import annotations

import json

import pytest
from tests.all_kinds import create_all

from steersman.apimachinery.cbor import encode_object
from steersman.apiserver.kinds.shared.allocation import PortBitmap, PortRange
from steersman.apiserver.kinds.stored_versions import stored_layout
from steersman.controlplane.options import APIServerOptions
from steersman.controlplane.storage_check import StorageChecker, reencode
from steersman.schema.protobuf import MEDIA_TYPE, encode_body
from steersman.testing import InProcessAPIServer

POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "default"}}
GADGET = {"kind": "Gadget", "apiVersion": "example.com/v1", "metadata": {"name": "a", "namespace": "default"}}
GADGETS = "/registry/example.com/gadgets/default/a"
DEFINITION = {
    "kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": "gadgets.example.com"},
    "spec": {"group": "example.com", "names": {"plural": "gadgets", "kind": "Gadget"}, "scope": "Namespaced",
             "versions": [{"name": "v1", "served": True, "storage": True}]},
}  # fmt: skip
DEFINITION_KEY = "/registry/apiextensions.k8s.io/customresourcedefinitions/gadgets.example.com"


def value_of(tree):
    return json.dumps(tree).encode()


def problems(stored):
    checker = StorageChecker()
    by_key = {key: problem for key, value in stored.items() if (problem := checker.problem(key, value))}
    return by_key | dict(checker.remaining_problems())


@pytest.mark.parametrize("media_type", ["application/json", MEDIA_TYPE])
async def test_everything_that_a_server_stores_passes(media_type):
    options = APIServerOptions(ephemeral=True, storage_media_type=media_type, advertise_address="192.0.2.1")
    async with InProcessAPIServer(options=options, with_bootstrap_controller=True) as server:
        await create_all(server)
        stored = {kv.key: kv.value for kv in (await server.store.range("/")).kvs}
    assert {"/registry/ranges/servicenodeports", "/registry/masterleases/192.0.2.1"} <= stored.keys()
    assert problems(stored) == {}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("/registry/pods/default/a", value_of({**POD, "kind": "Node"}), "holds a Node (v1), expected a Pod"),
        (
            "/registry/pods/default/a",
            value_of({**POD, "apiVersion": "v2"}),
            'no kind "Pod" is registered for version "v2"',
        ),
        ("/registry/pods/default/a", encode_body({**POD, "kind": "Secret"}), "holds a Secret (v1), expected a Pod"),
        ("/registry/pods/default/a", b"k8s\x00\xff", "unexpected EOF"),
        ("/registry/pods/default/a", b"{", "Input data was truncated"),
        ("/registry/pods/default/b", value_of(POD), "holds an object named 'a'"),
        ("/registry/pods/other/a", value_of(POD), "holds an object of the namespace 'default'"),
        ("/registry/pods/a", value_of(POD), "the key has not the form of its resource"),
        ("/registry/minions/default/a", value_of({**POD, "kind": "Node"}), "the key has not the form of its resource"),
        ("/registry/gizmos/a", b"{}", "no resource has this key"),
        ("/registry/ranges/other", b"{}", "no resource has this key"),
        ("/registry/ranges/servicenodeports", b"[]", "does not decode"),
        ("/registry/masterleases/192.0.2.1", value_of(POD), "holds a Pod (v1), expected an Endpoints"),
        (GADGETS, value_of({**GADGET, "apiVersion": "example.org/v1"}), "expected an object of the group example.com"),
        (GADGETS, value_of({"metadata": {}}), "kind or apiVersion is missing"),
        (GADGETS, encode_body(POD), "JSON is malformed"),
    ],
)
def test_value_that_kube_apiserver_does_not_read_is_reported(key, value, message):
    assert message in problems({key: value})[key]


def test_valid_values_pass_in_both_encodings():
    ports = PortBitmap(PortRange(30000, 32767))
    assert problems(
        {
            "/registry/pods/default/a": stored_layout("pods", MEDIA_TYPE).stored(POD),
            "/registry/pods/default/b": value_of({**POD, "metadata": {"name": "b", "namespace": "default"}}),
            "/registry/ranges/servicenodeports": ports.encode(MEDIA_TYPE),
            "compact_rev_key": b"x",
        }
    ) == {}  # fmt: skip


def test_custom_objects_need_their_definition_and_one_of_its_versions():
    assert problems({GADGETS: value_of(GADGET)}) == {GADGETS: "no CustomResourceDefinition defines gadgets.example.com"}
    assert problems({GADGETS: value_of(GADGET), DEFINITION_KEY: value_of(DEFINITION)}) == {}
    assert problems({GADGETS: encode_object(GADGET), DEFINITION_KEY: value_of(DEFINITION)}) == {}
    assert "unexpected EOF" in problems({GADGETS: encode_object(GADGET)[:-1]})[GADGETS]
    newer = value_of({**GADGET, "apiVersion": "example.com/v2"})
    assert (
        "a version that gadgets.example.com does not have"
        in problems({GADGETS: newer, DEFINITION_KEY: value_of(DEFINITION)})[GADGETS]
    )
    other = value_of({**GADGET, "kind": "Gizmo"})
    assert "expected a Gadget" in problems({GADGETS: other, DEFINITION_KEY: value_of(DEFINITION)})[GADGETS]


def test_encrypted_values_are_counted():
    checker = StorageChecker()
    assert checker.problem("/registry/secrets/default/a", b"k8s:enc:aescbc:v1:key1:xx") == ""
    assert checker.encrypted == 1


def test_reencode_changes_the_encoding_of_built_in_kinds_only():
    encode = reencode(MEDIA_TYPE)
    value = encode("/registry/pods/default/a", value_of(POD))
    assert value == stored_layout("pods", MEDIA_TYPE).stored(
        json.loads(reencode("application/json")("/registry/pods/default/a", value))
    )
    assert encode(GADGETS, value_of(GADGET)) == value_of(GADGET)
    assert encode("/registry/secrets/default/a", b"k8s:enc:aesgcm:v1:x") == b"k8s:enc:aesgcm:v1:x"
    assert encode("/registry/ranges/servicenodeports", b"{}") == b"{}"
