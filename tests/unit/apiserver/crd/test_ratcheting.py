from __future__ import annotations

import pytest

from steersman.apiserver.crd.ratcheting import new_faults
from steersman.schema import openapi_values

SMALL = {"type": "integer", "maximum": 5}


def schema(**properties):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def faulty_fields(shape, spec, old):
    obj, before = {"spec": spec}, {"spec": old}
    return [fault.error.field for fault in new_faults(shape, openapi_values.validate(shape, obj), obj, before)]


def items(list_type=None, **item):
    shape = {"type": "array", "items": item or SMALL}
    return shape | ({"x-kubernetes-list-type": list_type} if list_type else {})


@pytest.mark.parametrize(
    ("shape", "spec", "old", "faults"),
    [
        (schema(a=SMALL, b=SMALL), {"a": 9, "b": 1}, {"a": 9, "b": 2}, []),
        (schema(a=SMALL, b=SMALL), {"a": 9, "b": 8}, {"a": 9, "b": 2}, ["spec.b"]),
        (schema(a=SMALL), {"a": 9}, {"a": 8}, ["spec.a"]),
        (schema(a=SMALL), {"a": 9}, {}, ["spec.a"]),
        (schema(l=items()), {"l": [9, 1]}, {"l": [9, 2]}, ["spec.l[0]"]),
        (schema(l=items(), b=SMALL), {"l": [9, 1], "b": 1}, {"l": [9, 1], "b": 2}, []),
        (schema(l=items("set")), {"l": [9]}, {"l": [9]}, []),
        (schema(l=items("set")), {"l": [9, 1]}, {"l": [9]}, ["spec.l[0]"]),
        (schema(l=items("atomic")), {"l": [9]}, {"l": [9]}, []),
        (schema(l=items("atomic")), {"l": [9, 1]}, {"l": [9, 2]}, ["spec.l[0]"]),
        (
            schema(m={"type": "object", "additionalProperties": SMALL}),
            {"m": {"a": 9, "b": 7}},
            {"m": {"a": 9}},
            ["spec.m.b"],
        ),
    ],
)
def test_unchanged_invalid_values_are_accepted(shape, spec, old, faults):
    assert faulty_fields(shape, spec, old) == faults


def test_map_list_items_are_correlated_by_key():
    item = {"type": "object", "properties": {"k": {"type": "string"}, "v": SMALL}}
    shape = schema(l={**items("map", **item), "x-kubernetes-list-map-keys": ["k"]})
    old = [{"k": "a", "v": 9}, {"k": "b", "v": 1}]
    assert faulty_fields(shape, {"l": [{"k": "b", "v": 8}, {"k": "a", "v": 9}]}, {"l": old}) == ["spec.l[0].v"]


def test_missing_field_is_an_error_of_its_object():
    shape = schema(o={"type": "object", "required": ["a"], "properties": {"b": SMALL}})
    assert faulty_fields(shape, {"o": {"b": 1}}, {"o": {"b": 1}}) == []
    assert faulty_fields(shape, {"o": {"b": 2}}, {"o": {"b": 1}}) == ["spec.o.a"]


def test_unchanged_duplicates_are_accepted():
    shape = schema(l=items("set", type="string"))
    assert faulty_fields(shape, {"l": ["a", "a", "b"]}, {"l": ["c", "c"]}) == []
    assert faulty_fields(shape, {"l": ["a", "a"]}, {"l": ["a"]}) == ["spec.l[1]"]
