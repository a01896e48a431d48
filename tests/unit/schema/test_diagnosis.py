from __future__ import annotations

import pytest

from steersman.apimachinery.codec import DecodeError, decode_json_exactly
from steersman.schema.decoding import decode
from steersman.schema.diagnosis import InexactError, go_type
from steersman.schema.loader import struct, struct_for


def refusal(group, kind, tree):
    with pytest.raises(DecodeError) as caught:
        decode(struct_for(group, "v1", kind), tree)
    return str(caught.value)


@pytest.mark.parametrize(
    ("group", "kind", "tree", "message"),
    [
        ("", "ConfigMap", {"data": []}, "array into Go struct field ConfigMap.data of type map[string]string"),
        ("", "ConfigMap", {"data": {"k": 1}}, "number into Go struct field ConfigMap.data of type string"),
        ("", "ConfigMap", {"immutable": "x"}, "string into Go struct field ConfigMap.immutable of type bool"),
        ("", "Service", {"spec": "x"}, "string into Go struct field Service.spec of type v1.ServiceSpec"),
        ("", "Service", {"metadata": "x"}, "string into Go struct field Service.metadata of type v1.ObjectMeta"),
        (
            "",
            "Service",
            {"spec": {"ports": {}}},
            "object into Go struct field ServiceSpec.spec.ports of type []v1.ServicePort",
        ),
        ("", "Secret", {"data": {"k": 1}}, "number into Go struct field Secret.data of type []uint8"),
        (
            "",
            "Service",
            {"spec": {"ports": [{"targetPort": True}]}},
            "bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
        (
            "",
            "ConfigMap",
            {"metadata": {"creationTimestamp": 1}},
            "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            "apps",
            "Deployment",
            {"spec": {"replicas": 3000000000}},
            "number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "",
            "Pod",
            {"spec": {"containers": ["x"]}},
            "string into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
    ],
)
def test_first_error_names_struct_path_and_go_type(group, kind, tree, message):
    assert refusal(group, kind, tree) == f"json: cannot unmarshal {message}"


@pytest.mark.parametrize("number", ["2.0", "1e1", "2.50"])
def test_first_error_prints_numbers_as_written(number):
    tree = decode_json_exactly(b'{"spec": {"replicas": ' + number.encode() + b"}}")
    expected = f"json: cannot unmarshal number {number} into Go struct field DeploymentSpec.spec.replicas of type int32"
    assert refusal("apps", "Deployment", tree) == expected


def test_first_error_is_inexact_without_the_text_of_a_number():
    with pytest.raises(InexactError):
        decode(struct_for("apps", "v1", "Deployment"), {"spec": {"replicas": 10.0}})


def test_first_error_is_the_first_wrong_type_of_the_text():
    assert "ConfigMap.data " in refusal("", "ConfigMap", {"data": 1, "immutable": "x"})
    assert "ConfigMap.immutable " in refusal("", "ConfigMap", {"immutable": "x", "data": 1})


def test_first_error_prefers_malformed_times():
    tree = {"data": 1, "metadata": {"creationTimestamp": "yesterday"}}
    assert refusal("", "ConfigMap", tree).startswith('parsing time "yesterday"')


def test_first_error_of_a_malformed_quantity_has_no_path():
    message = refusal("", "ResourceQuota", {"spec": {"hard": {"cpu": "many"}}})
    assert message.startswith("quantities must match the regular expression")


def test_first_error_of_malformed_base64_has_no_path():
    assert refusal("", "Secret", {"data": {"k": "!"}}) == "illegal base64 data at input byte 0"


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"additionalProperties": 5}, "boolean or JSON schema expected"),
        (
            {"additionalProperties": {"type": 5}},
            "number into Go struct field JSONSchemaProps.properties.additionalProperties of type string",
        ),
        (
            {"items": [5]},
            "number into Go struct field JSONSchemaProps.properties.items of type v1.JSONSchemaProps",
        ),
    ],
)
def test_first_error_in_a_json_schema_names_the_outer_field(properties, message):
    assert refusal("apiextensions.k8s.io", "JSONSchemaProps", {"properties": {"a": properties}}).endswith(message)


def test_first_error_of_the_root_has_no_field():
    assert refusal("", "ConfigMap", []) == "json: cannot unmarshal array into Go value of type v1.ConfigMap"


def test_go_type_prints_types_as_go():
    spec = struct("io.k8s.api.core.v1.PodSpec").fields
    assert go_type(spec["volumes"].type) == "[]v1.Volume"
    assert go_type(spec["nodeSelector"].type) == "map[string]string"
    assert go_type(spec["overhead"].type) == "map[string]resource.Quantity"
