"""Defaults, nulls and pruning by schema."""

import json

import pytest

from steersman.apimachinery.codec import DecodeError
from steersman.apiserver.crd import structure
from steersman.apiserver.crd.definition import all_versions
from steersman.apiserver.crd.shape import Shape
from steersman.schema.openapi_types import from_openapi

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "default": {},
            "properties": {
                "size": {"type": "integer", "default": 1},
                "note": {"type": "string", "nullable": True, "default": "none"},
                "plain": {"type": "string"},
                "items": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 7}}},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "map": {
                    "type": "object",
                    "additionalProperties": {"type": "object", "properties": {"d": {"type": "string", "default": "x"}}},
                },
            },
        }
    },
}


def filled(tree: dict) -> dict:
    structure.fill_defaults(Shape(SCHEMA), tree)
    return tree


def test_defaults_reach_into_defaulted_objects_lists_and_maps():
    assert filled({}) == {"spec": {"size": 1, "note": "none"}}
    assert filled({"spec": {"items": [{}], "map": {"k": {}}}})["spec"]["items"] == [{"n": 7}]
    assert filled({"spec": {"map": {"k": {}}}})["spec"]["map"] == {"k": {"d": "x"}}


def test_defaulting_twice_changes_nothing():
    once = filled({"spec": {"items": [{}]}})
    assert filled(structure.decode(from_openapi(SCHEMA, "Shirt"), Shape(SCHEMA), once)[0]) == once


def test_a_null_goes_unless_it_may_be_null():
    tree, _ = structure.decode(
        from_openapi(SCHEMA, "Shirt"), Shape(SCHEMA), {"spec": {"size": None, "note": None, "plain": None}}
    )
    assert tree == {"spec": {"note": None}}


def test_unknown_fields_are_dropped_and_told():
    tree, unknown = structure.decode(
        from_openapi(SCHEMA, "Shirt"), Shape(SCHEMA), {"spec": {"typo": 1, "free": {"any": 1}}, "x": 1}
    )
    assert tree == {"spec": {"free": {"any": 1}}}
    assert unknown == ["spec.typo", "x"]


def test_a_schema_knows_whether_it_has_defaults():
    assert Shape(SCHEMA).has_defaults
    assert not Shape({"type": "object", "properties": {"a": {"type": "string"}}}).has_defaults


def test_defaults_are_not_shared_between_objects():
    first, second = filled({}), filled({})
    first["spec"]["size"] = 9
    assert second["spec"]["size"] == 1


def test_another_version_shows_the_defaults_of_the_stored_one_and_only_what_it_specifies():
    names = {"plural": "shirts", "kind": "Shirt"}
    v2 = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}},
        {"name": "v2", "served": True, "schema": {"openAPIV3Schema": v2}},
    ]
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    stored, other = all_versions({"spec": spec, "status": {"acceptedNames": names}}).values()
    tree = {"apiVersion": "example.com/v1", "kind": "Shirt", "metadata": {"name": "a"}, "spec": {"gone": 1}}
    shown = structure.shown(other, stored, tree, {})
    assert shown == {
        "apiVersion": "example.com/v2",
        "kind": "Shirt",
        "metadata": {"name": "a"},
        "spec": {"size": 1},
    }


def test_metadata_is_held_as_its_type_holds_it():
    struct = from_openapi(SCHEMA, "Shirt")
    tree, unknown = structure.decode(struct, Shape(SCHEMA), {"metadata": {"name": "a", "labels": {}, "made": "up"}})
    assert (tree, unknown) == ({"metadata": {"name": "a"}}, ["metadata.made"])
    with pytest.raises(DecodeError, match="cannot unmarshal number into Go struct field"):
        structure.decode(struct, Shape(SCHEMA), {"metadata": {"name": 5}})


def test_defaults_take_the_place_of_nulls_in_lists_and_maps():
    numbers = {"type": "integer", "default": 7}
    schema = {"type": "array", "items": numbers}
    listed = {"type": "object", "properties": {"l": schema, "m": {"type": "object", "additionalProperties": numbers}}}
    tree = {"l": [None, 1], "m": {"a": None}}
    structure.drop_nulls(Shape(listed), tree)
    assert tree == {"l": [7, 1], "m": {"a": 7}}


def test_whole_numbers_replaces_floats_that_are_64_bit_integers():
    tree = {"a": 2.0, "b": [1e3, 1.5, {"c": -0.0}], "d": 1e20, "e": "1.0"}
    assert json.dumps(structure.whole_numbers(tree)) == '{"a": 2, "b": [1000, 1.5, {"c": 0}], "d": 1e+20, "e": "1.0"}'
