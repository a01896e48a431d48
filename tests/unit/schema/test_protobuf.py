"""Bodies in protobuf become the trees that JSON would have given."""

import base64

import pytest

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.protowire import boolean, integer, length_delimited, string, varint
from steersman.schema import protobuf
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for


def body(kind: str, raw: bytes, api_version: str = "v1") -> bytes:
    return protobuf.MAGIC + length_delimited(1, string(1, api_version) + string(2, kind)) + length_delimited(2, raw)


def entry(key: str, value: bytes) -> bytes:
    return string(1, key) + length_delimited(2, value)


NAMED = length_delimited(1, string(1, "a"))


def test_decode_body_of_maps_of_strings_and_bytes():
    raw = (
        NAMED
        + length_delimited(2, entry("k", b"v"))
        + length_delimited(2, entry("l", b"w"))
        + length_delimited(3, entry("b", b"\xff"))
    )
    tree = protobuf.decode_body(body("ConfigMap", raw))
    assert tree["data"] == {"k": "v", "l": "w"}
    assert base64.b64decode(tree["binaryData"]["b"]) == b"\xff"
    assert (tree["kind"], tree["apiVersion"], tree["metadata"]) == ("ConfigMap", "v1", {"name": "a"})


def test_decode_body_inlines_messages():
    source = length_delimited(
        19, length_delimited(1, string(1, "settings"))
    )  # VolumeSource.configMap.localObjectReference.name
    volume = string(1, "config") + length_delimited(2, source)
    raw = NAMED + length_delimited(2, length_delimited(1, volume))
    assert protobuf.decode_body(body("Pod", raw))["spec"]["volumes"] == [
        {"name": "config", "configMap": {"name": "settings"}}
    ]


def test_decode_body_of_scalars():
    port = length_delimited(4, integer(1, 1) + string(3, "http"))
    ports = length_delimited(1, integer(3, 80) + port)
    raw = NAMED + length_delimited(2, ports + boolean(13, True))
    spec = protobuf.decode_body(body("Service", raw))["spec"]
    assert spec["ports"] == [{"port": 80, "targetPort": "http"}]
    assert spec["publishNotReadyAddresses"] is True


def test_decode_body_of_negative_integers():
    raw = NAMED + integer(2, -5)
    assert protobuf.decode_body(body("PriorityClass", raw, "scheduling.k8s.io/v1"))["value"] == -5


def test_decode_body_of_times_quantities_and_embedded_json():
    moment = length_delimited(8, integer(1, 5))
    data = length_delimited(2, length_delimited(1, b'{"x":1}'))
    tree = protobuf.decode_body(body("ControllerRevision", length_delimited(1, moment) + data, "apps/v1"))
    assert tree["metadata"]["creationTimestamp"] == "1970-01-01T00:00:05Z"
    assert tree["data"] == {"x": 1}
    hard = length_delimited(1, entry("pods", string(1, "5")))
    assert protobuf.decode_body(body("ResourceQuota", length_delimited(2, hard)))["spec"]["hard"] == {"pods": "5"}


def test_decode_body_of_an_empty_time_is_null():
    assert (
        protobuf.decode_body(body("ConfigMap", length_delimited(1, length_delimited(8, b""))))["metadata"][
            "creationTimestamp"
        ]
        is None
    )


def test_decode_body_of_maps_of_lists():
    extra = length_delimited(4, entry("team", string(1, "a") + string(1, "b")))
    tree = protobuf.decode_body(
        body("TokenReview", length_delimited(3, length_delimited(2, extra)), "authentication.k8s.io/v1")
    )
    assert tree["status"]["user"]["extra"] == {"team": ["a", "b"]}


def test_decode_body_accepts_packed_and_unpacked_numbers():
    packed = length_delimited(4, varint(1) + varint(2))
    unpacked = integer(4, 1) + integer(4, 2)
    trees = [
        protobuf.decode_body(body("Pod", length_delimited(2, length_delimited(14, groups))))
        for groups in (packed, unpacked)
    ]
    assert trees[0] == trees[1]
    assert trees[0]["spec"]["securityContext"]["supplementalGroups"] == [1, 2]


def test_decode_drops_zero_values_of_a_body():
    raw = NAMED + length_delimited(2, length_delimited(3, b"") + varint(11 << 3) + b"\x00")
    tree = protobuf.decode_body(body("Pod", raw))
    assert tree["spec"] == {"restartPolicy": "", "hostNetwork": False}
    assert decode(struct_for("", "v1", "Pod"), tree).tree["spec"] == {"containers": None}


def test_decode_body_skips_unknown_fields():
    assert protobuf.decode_body(body("ConfigMap", NAMED + string(900, "x")))["metadata"] == {"name": "a"}


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"k8s",
        b"{}",
        body("ConfigMap", b"\x0a\xff"),
        body("ConfigMap", b"\x0b\x00"),
        body("ConfigMap", b"\xff" * 11),
        body("ConfigMap", length_delimited(1, length_delimited(1, b"\xff"))),
        body("ConfigMap", varint(1 << 3) + b"\x05"),
        body("Nothing", b""),
    ],
)
def test_decode_body_rejects_malformed_bodies(broken):
    with pytest.raises(DecodeError):
        protobuf.decode_body(broken)


def test_decode_body_rejects_boolean_of_another_wire_type():
    with pytest.raises(DecodeError, match="wrong wireType"):
        protobuf.decode_body(body("Service", NAMED + length_delimited(2, length_delimited(13, b"x"))))


def test_decode_body_pads_years():
    seconds = length_delimited(8, integer(1, -62135596799))  # creationTimestamp
    tree = protobuf.decode_body(body("ConfigMap", length_delimited(1, string(1, "a") + seconds)))
    assert tree["metadata"]["creationTimestamp"] == "0001-01-01T00:00:01Z"


def test_encode_body_writes_the_envelope():
    raw = protobuf.encode_body({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
    envelope = protobuf.open_envelope(raw)
    assert (envelope.api_version, envelope.kind) == ("v1", "Status")
    assert raw.endswith(b"\x1a\x00\x22\x00")
    assert protobuf.decode_body(raw)["code"] == 201


def test_decode_body_uses_the_callers_kind_when_absent():
    anonymous = protobuf.MAGIC + length_delimited(1, b"") + length_delimited(2, NAMED)
    assert protobuf.decode_body(anonymous, "v1", "ConfigMap")["kind"] == "ConfigMap"


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize("items", [None, [], [{"metadata": {"name": "a"}}]])
def test_encode_body_of_partial_object_metadata_lists(version, items):
    tree = {"kind": "PartialObjectMetadataList", "apiVersion": f"meta.k8s.io/{version}", "metadata": {}, "items": items}
    decoded = protobuf.decode_body(protobuf.encode_body(tree))
    assert [item["metadata"]["name"] for item in decoded.get("items", [])] == ["a"] * len(items or [])


def test_definition_of_rejects_custom_kinds():
    with pytest.raises(KeyError):
        protobuf.encode_body({"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {}})
