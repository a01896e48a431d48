from __future__ import annotations

import pytest

from steersman.apimachinery.typemodel import ListOf, ListType, MapOf, Scalar, ScalarKind, Struct
from steersman.schema.loader import OBJECT_META, struct
from steersman.schema.openapi_types import from_openapi


def spec_field(schema):
    """Return the type of one field below `spec`."""
    spec = {"type": "object", "properties": {"it": schema}}
    whole = from_openapi({"type": "object", "properties": {"spec": spec}}, "Shirt")
    spec_type = whole.fields["spec"].type
    assert isinstance(spec_type, Struct)
    return spec_type.fields["it"].type


def test_from_openapi_uses_the_built_in_metadata():
    shirt = from_openapi({"type": "object", "properties": {"metadata": {"type": "object"}}}, "Shirt")
    assert shirt.fields["metadata"].type is struct(OBJECT_META)
    assert {"apiVersion", "kind"} < shirt.fields.keys()


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, ScalarKind.STRING),
        ({"type": "string", "format": "date-time"}, ScalarKind.STRING),
        ({"type": "integer"}, ScalarKind.INT64),
        ({"type": "integer", "format": "int32"}, ScalarKind.INT32),
        ({"type": "number"}, ScalarKind.NUMBER),
        ({"type": "boolean"}, ScalarKind.BOOLEAN),
        ({"x-kubernetes-int-or-string": True}, ScalarKind.INT_OR_STRING),
        ({"x-kubernetes-preserve-unknown-fields": True}, ScalarKind.ANY),
    ],
)
def test_from_openapi_of_leaves(schema, kind):
    type_ = spec_field(schema)
    assert isinstance(type_, Scalar)
    assert type_.kind is kind


def test_from_openapi_keeps_list_types_keys_and_defaults():
    item = {
        "type": "object",
        "required": ["port"],
        "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
    }
    type_ = spec_field(
        {
            "type": "array",
            "items": item,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
        }
    )
    assert isinstance(type_, ListOf)
    assert (type_.list_type, type_.keys, type_.key_defaults) == (
        ListType.MAP,
        ("port", "protocol"),
        {"protocol": "TCP"},
    )
    assert isinstance(type_.item, Struct)
    assert type_.item.fields["port"].mandatory


def test_from_openapi_converts_additional_properties_to_a_map():
    type_ = spec_field(
        {"type": "object", "additionalProperties": {"type": "integer"}, "x-kubernetes-map-type": "atomic"}
    )
    assert isinstance(type_, MapOf)
    assert type_.atomic
    anything = spec_field({"type": "object", "additionalProperties": True})
    assert isinstance(anything, MapOf)


def test_from_openapi_of_an_object_without_properties():
    type_ = spec_field({"type": "object"})
    assert isinstance(type_, Struct)
    assert (type_.fields, type_.preserve_unknown) == ({}, False)


def test_from_openapi_keeps_preserve_unknown_fields():
    type_ = spec_field({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    assert isinstance(type_, Struct)
    assert type_.preserve_unknown


def test_from_openapi_of_an_embedded_resource_has_metadata():
    type_ = spec_field({"type": "object", "x-kubernetes-embedded-resource": True})
    assert isinstance(type_, Struct)
    assert type_.fields["metadata"].type is struct(OBJECT_META)


def test_from_openapi_keeps_defaults():
    whole = from_openapi({"type": "object", "properties": {"size": {"type": "string", "default": "M"}}}, "Shirt")
    assert whole.fields["size"].default == "M"
