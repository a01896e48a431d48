"""Objects within custom objects."""

import pytest

from steersman.apimachinery.codec import DecodeError
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.embedded import type_embedded, validate_embedded
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.shape import Shape

EMBEDDED = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "one": EMBEDDED,
        "many": {"type": "array", "items": EMBEDDED},
        "named": {"type": "object", "additionalProperties": EMBEDDED},
    },
}
RIGHT = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}, "spec": {}}


def faults(obj: dict) -> list[str]:
    return [error.field for error in validate_embedded(Shape(SCHEMA), obj)]


def test_embedded_objects_are_validated_at_any_depth():
    assert faults({"one": RIGHT, "many": [RIGHT], "named": {"x": RIGHT}}) == []
    assert faults({"one": {}, "many": [RIGHT, {"kind": "Pod"}], "named": {"x": {"apiVersion": "v1"}}}) == [
        "one.apiVersion",
        "one.kind",
        "many[1].apiVersion",
        "named[x].kind",
    ]


def test_embedded_objects_require_type_meta():
    errors = validate_embedded(Shape(SCHEMA), {"one": {"apiVersion": "a/b/c", "kind": "Po d"}})
    assert [str(error).partition(" (e.g.")[0] for error in errors] == [
        'one.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        (
            'one.kind: Invalid value: "Po d": may have mixed case, but should otherwise match: a DNS-1035 label must '
            "consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an "
            "alphanumeric character"
        ),
    ]
    errors = validate_embedded(Shape(SCHEMA), {"one": {"apiVersion": "", "kind": ""}})
    assert [error.detail for error in errors] == ["must not be empty"] * 2


def test_metadata_of_embedded_objects_is_validated_without_requiring_a_name():
    assert faults({"one": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}}) == []
    metadata = {"name": "a/b", "labels": {"a b": "c"}}
    assert faults({"one": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}}) == [
        "one.metadata.name",
        "one.metadata.labels",
    ]


def test_metadata_of_embedded_objects_is_typed():
    obj = {"one": {"metadata": {"name": "a", "labels": {}, "annotations": None, "made": "up"}}}
    type_embedded(Shape(SCHEMA), obj)
    assert obj == {"one": {"metadata": {"name": "a"}}}


@pytest.mark.parametrize(
    ("one", "message"),
    [
        ({"apiVersion": 1}, "one.apiVersion: Invalid value: 1: must be a string"),
        ({"kind": []}, "one.kind: Invalid value: []: must be a string"),
        (
            {"metadata": {"name": 5}},
            (
                'one.metadata: Invalid value: {"name":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name '
                "of type string"
            ),
        ),
    ],
)
def test_embedded_objects_reject_wrong_types(one, message):
    with pytest.raises(DecodeError) as caught:
        type_embedded(Shape(SCHEMA), {"one": one})
    assert str(caught.value) == message
