"""Validation of list types in schemas."""

import pytest
from tests.unit.apiserver.kinds.samples import texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.list_rules import validate_lists

KEYED = {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]}


def faults(**schema: object) -> list[str]:
    return texts(validate_lists({key.replace("_", "-"): value for key, value in schema.items()}, Path("s")))


def a_list(list_type: str, items: object = None, keys: list[str] | None = None, type_: str = "array") -> list[str]:
    schema = {"type": type_, "x_kubernetes_list_type": list_type, "items": items, "x_kubernetes_list_map_keys": keys}
    return faults(**{key: value for key, value in schema.items() if value is not None})


def test_validate_lists_accepts_valid_lists():
    assert a_list("map", KEYED, ["k"]) == []
    assert a_list("map", KEYED | {"required": [], "properties": {"k": {"type": "string", "default": "d"}}}, ["k"]) == []
    assert a_list("set", {"type": "string"}) == []
    assert a_list("set", {"type": "object", "x-kubernetes-map-type": "atomic"}) == []
    assert a_list("atomic", {"type": "object"}) == []


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (("bag",), 's.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"'),
        (
            ("set", {"type": "object"}),
            (
                "s.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with "
                "x-kubernetes-list-type=set"
            ),
        ),
        (
            ("set", {"type": "array", "x-kubernetes-list-type": "set"}),
            (
                's.items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with '
                "x-kubernetes-list-type=set"
            ),
        ),
        (
            ("set", {"type": "string", "nullable": True}),
            "s.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
        ),
        (
            ("atomic", {"type": "string"}, ["k"]),
            's.x-kubernetes-list-type: Invalid value: "atomic": must be map if x-kubernetes-list-map-keys is non-empty',
        ),
        (
            ("map", KEYED),
            "s.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (("map", None, ["k"]), "s.items: Required value: must have a schema if x-kubernetes-list-type is map"),
        (
            ("map", {"type": "string"}, ["k"]),
            's.items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
        ),
        (
            ("map", KEYED, ["j"]),
            's.x-kubernetes-list-map-keys: Invalid value: ["j"]: entries must all be names of item properties',
        ),
        (
            ("map", KEYED, ["k", "k"]),
            's.x-kubernetes-list-map-keys: Invalid value: ["k","k"]: must not contain duplicate entries',
        ),
        (
            ("map", KEYED | {"properties": {"k": {"type": "array"}}}, ["k"]),
            (
                's.items.properties[k].type: Invalid value: "object": must be a scalar type if parent array\'s '
                "x-kubernetes-list-type is map"
            ),
        ),
        (
            ("map", KEYED | {"required": []}, ["k"]),
            (
                "s.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must "
                "have a default or be a required property"
            ),
        ),
        (
            ("map", KEYED | {"properties": {"k": {"type": "string", "nullable": True}}}, ["k"]),
            (
                "s.items.properties[k].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be "
                "nullable"
            ),
        ),
    ],
)
def test_validate_lists_rejects_invalid_lists(args, fault):
    assert a_list(*args) == [fault]


def test_validate_lists_rejects_list_type_of_non_array():
    fault = "must be array if x-kubernetes-list-type is specified"
    assert a_list("atomic", type_="object") == [f's.type: Invalid value: "object": {fault}']
    assert a_list("atomic", type_="") == [f"s.type: Required value: {fault}"]


def test_validate_lists_rejects_map_keys_without_list_type():
    assert faults(type="array", x_kubernetes_list_map_keys=["k"]) == [
        "s.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty"
    ]


def test_validate_lists_shows_list_of_item_schemas_in_go_form():
    (fault,) = a_list("map", [KEYED], ["k"])
    assert fault.startswith('s.items: Invalid value: {"Schema":null,"JSONSchemas":[{"ID":"",')
    assert fault.endswith("}]}: must only have a single schema if x-kubernetes-list-type is map")
