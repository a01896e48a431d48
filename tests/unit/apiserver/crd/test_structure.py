"""Defaults, nulls and pruning by schema."""

import json

import pytest

from steersman.apimachinery.codec import DecodeError
from steersman.apiserver.crd import structure
from steersman.apiserver.crd.definition import all_versions
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.shape import Shape

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
    assert filled(structure.decode(Shape(SCHEMA), once)[0]) == once


def test_null_is_dropped_unless_nullable():
    tree, _ = structure.decode(Shape(SCHEMA), {"spec": {"size": None, "note": None, "plain": None}})
    assert tree == {"spec": {"note": None}}


def test_unknown_fields_are_pruned_and_reported():
    tree, unknown = structure.decode(Shape(SCHEMA), {"spec": {"typo": 1, "free": {"any": 1}}, "x": 1})
    assert tree == {"spec": {"free": {"any": 1}}}
    assert unknown == ["spec.typo", "x"]


def test_schema_reports_whether_it_has_defaults():
    assert Shape(SCHEMA).has_defaults
    assert not Shape({"type": "object", "properties": {"a": {"type": "string"}}}).has_defaults


def test_defaults_are_not_shared_between_objects():
    first, second = filled({}), filled({})
    first["spec"]["size"] = 9
    assert second["spec"]["size"] == 1


def test_other_version_has_defaults_of_the_storage_version_and_its_own_fields_only():
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


def test_metadata_is_typed():
    tree, unknown = structure.decode(Shape(SCHEMA), {"metadata": {"name": "a", "labels": {}, "made": "up"}})
    assert (tree, unknown) == ({"metadata": {"name": "a"}}, ["metadata.made"])
    with pytest.raises(DecodeError, match="cannot unmarshal number into Go struct field"):
        structure.decode(Shape(SCHEMA), {"metadata": {"name": 5}})
    assert structure.decode(Shape(SCHEMA), {"metadata": None})[0] == {"metadata": {}}
    for metadata in ([], "", 0, False):
        with pytest.raises(DecodeError, match=r"of type v1\.ObjectMeta"):
            structure.decode(Shape(SCHEMA), {"metadata": metadata})


def test_defaults_replace_nulls_in_lists_and_maps():
    numbers = {"type": "integer", "default": 7}
    schema = {"type": "array", "items": numbers}
    listed = {"type": "object", "properties": {"l": schema, "m": {"type": "object", "additionalProperties": numbers}}}
    tree = {"l": [None, 1], "m": {"a": None}}
    structure.drop_nulls(Shape(listed), tree)
    assert tree == {"l": [7, 1], "m": {"a": 7}}


def test_whole_numbers_replaces_floats_that_are_64_bit_integers():
    tree = {"a": 2.0, "b": [1e3, 1.5, {"c": -0.0}], "d": 1e20, "e": "1.0"}
    assert json.dumps(structure.whole_numbers(tree)) == '{"a": 2, "b": [1000, 1.5, {"c": 0}], "d": 1e+20, "e": "1.0"}'
