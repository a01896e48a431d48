"""Strategic merge patches."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.typemodel import Field, ListOf, MapOf, Scalar, ScalarKind, Struct
from steersman.schema.strategic_merge import strategic_merge

TEXT = Scalar(ScalarKind.STRING)
ENV = Struct("Env", {"name": Field("name", TEXT), "value": Field("value", TEXT)})
CONTAINER = Struct(
    "Container",
    {
        "name": Field("name", TEXT),
        "image": Field("image", TEXT),
        "args": Field("args", ListOf(TEXT)),
        "env": Field("env", ListOf(ENV), patch_strategies=("merge",), patch_merge_key="name"),
    },
)
PORT = Struct("Port", {"port": Field("port", Scalar(ScalarKind.INT32)), "name": Field("name", TEXT)})
STRATEGY = Struct("Strategy", {"type": Field("type", TEXT), "rolling": Field("rolling", MapOf(TEXT))})
SPEC = Struct(
    "Spec",
    {
        "containers": Field("containers", ListOf(CONTAINER), patch_strategies=("merge",), patch_merge_key="name"),
        "ports": Field("ports", ListOf(PORT), patch_strategies=("merge",), patch_merge_key="port"),
        "finalizers": Field("finalizers", ListOf(TEXT), patch_strategies=("merge",)),
        "tolerations": Field("tolerations", ListOf(MapOf(TEXT))),
        "labels": Field("labels", MapOf(TEXT)),
        "selector": Field("selector", MapOf(TEXT), patch_strategies=("replace",)),
        "strategy": Field("strategy", STRATEGY, patch_strategies=("retainKeys",)),
        "volumes": Field(
            "volumes", ListOf(MapOf(TEXT)), patch_strategies=("merge", "retainKeys"), patch_merge_key="name"
        ),
    },
)


def names(items: list[dict[str, Any]]) -> list[str]:
    return [item["name"] for item in items]


def items(text: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in text]


@pytest.mark.parametrize(
    ("stored", "patch", "expected"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None, "none": None}, {}),
        ({"labels": {"a": "1", "b": "2"}}, {"labels": {"a": None, "c": "3"}}, {"labels": {"b": "2", "c": "3"}}),
        ({}, {"labels": {"x": "y", "z": None}}, {"labels": {"x": "y"}}),
        ({"labels": {"a": "1"}}, {"labels": "text"}, {"labels": "text"}),
        ({"selector": {"a": "1"}}, {"selector": {"b": "2"}}, {"selector": {"b": "2"}}),
        ({"tolerations": [{"k": "a"}]}, {"tolerations": [{"k": "b"}]}, {"tolerations": [{"k": "b"}]}),
        ({"unknown": {"a": [1], "b": 2}}, {"unknown": {"a": [2]}}, {"unknown": {"a": [2], "b": 2}}),
    ],
)
def test_strategic_merge_merges_maps_and_replaces_atomic_lists(stored: Any, patch: Any, expected: Any) -> None:
    assert strategic_merge(stored, patch, SPEC) == expected


def test_strategic_merge_merges_items_by_key_at_every_level() -> None:
    stored = {"containers": [{"name": "c", "image": "i", "env": [{"name": "E", "value": "1"}]}, {"name": "d"}]}
    patch = {"containers": [{"name": "c", "env": [{"name": "F", "value": "2"}, {"name": "E", "value": None}]}]}
    assert strategic_merge(stored, patch, SPEC) == {
        "containers": [
            {"name": "c", "image": "i", "env": [{"name": "F", "value": "2"}, {"name": "E"}]},
            {"name": "d"},
        ]
    }


def test_strategic_merge_merges_duplicate_items_into_the_first() -> None:
    stored = {"ports": [{"port": 53, "name": "t"}, {"port": 53, "name": "u"}, {"port": 80}]}
    patch = {"ports": [{"port": 53, "x": 1}, {"port": 53, "name": "v"}]}
    assert strategic_merge(stored, patch, SPEC)["ports"] == [
        {"port": 53, "name": "v", "x": 1},
        {"port": 53, "name": "u"},
        {"port": 80},
    ]


def test_strategic_merge_prepends_new_items() -> None:
    assert names(strategic_merge({"containers": items("cd")}, {"containers": items("f")}, SPEC)["containers"]) == [
        *"fcd"
    ]


def test_strategic_merge_keeps_the_order_of_patched_items() -> None:
    merged = strategic_merge({"containers": items("abcd")}, {"containers": items("dbx")}, SPEC)
    assert names(merged["containers"]) == [*"acdbx"]


@pytest.mark.parametrize(
    ("order", "patched", "expected"),
    [
        ("cgdef", "g", "cgdef"),
        ("edc", "", "fedc"),
        ("cf", "", "cfde"),
        ("nd", "d", "cdef"),
        ("", "", "cdef"),
    ],
)
def test_strategic_merge_obeys_set_element_order(order: str, patched: str, expected: str) -> None:
    patch: dict[str, Any] = {"$setElementOrder/containers": items(order)}
    if patched:
        patch["containers"] = items(patched)
    merged = strategic_merge({"containers": items("cdef")}, patch, SPEC)
    assert sorted(names(merged["containers"])) == sorted(expected)
    assert [name for name in names(merged["containers"]) if name in order] == [name for name in order if name != "n"]


def test_strategic_merge_keeps_places_of_unordered_items() -> None:
    patch = {"$setElementOrder/containers": items("fc")}
    merged = strategic_merge({"containers": items("fedgc")}, patch, SPEC)
    assert names(merged["containers"]) == [*"fedgc"]


def test_strategic_merge_ignores_an_order_without_list() -> None:
    assert strategic_merge({}, {"$setElementOrder/containers": items("a")}, SPEC) == {}


def test_strategic_merge_orders_a_new_list() -> None:
    patch = {"$setElementOrder/containers": items("ab"), "containers": items("ab")}
    assert names(strategic_merge({}, patch, SPEC)["containers"]) == ["a", "b"]


def test_strategic_merge_treats_primitive_lists_as_sets() -> None:
    stored = {"finalizers": ["a", "b", "c"]}
    assert strategic_merge(stored, {"finalizers": ["d", "b"]}, SPEC)["finalizers"] == ["d", "a", "b", "c"]


def test_strategic_merge_deletes_from_and_orders_primitive_lists() -> None:
    patch = {
        "$deleteFromPrimitiveList/finalizers": ["a", "none"],
        "$setElementOrder/finalizers": ["e", "d", "c"],
        "finalizers": ["e"],
    }
    assert strategic_merge({"finalizers": ["a", "c", "d"]}, patch, SPEC)["finalizers"] == ["e", "d", "c"]
    assert strategic_merge({}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, SPEC) == {}


def test_strategic_merge_merges_maps_to_delete_from_a_list_of_maps() -> None:
    patch = {"$deleteFromPrimitiveList/containers": [{"name": "a", "image": "i"}, {"name": "b"}]}
    merged = strategic_merge({"containers": [{"name": "a"}]}, patch, SPEC)
    assert merged == {"containers": [{"name": "a", "image": "i"}, {"name": "b"}]}


def test_strategic_merge_delete_removes_all_items_of_the_key() -> None:
    stored = {"ports": [{"port": 53, "name": "t"}, {"port": 80}, {"port": 53, "name": "u"}]}
    patch = {"ports": [{"$patch": "delete", "port": 53}, {"$patch": "delete", "port": 1}]}
    assert strategic_merge(stored, patch, SPEC)["ports"] == [{"port": 80}]


def test_strategic_merge_replace_in_an_item_replaces_the_list() -> None:
    stored = {"containers": items("cd")}
    assert names(strategic_merge(stored, {"containers": [*items("e"), {"$patch": "replace"}]}, SPEC)["containers"]) == [
        "e"
    ]
    patch = {"containers": [{"$patch": "replace", "name": "c"}]}
    assert strategic_merge(stored, patch, SPEC)["containers"] == []


def test_strategic_merge_obeys_map_directives() -> None:
    stored = {"labels": {"a": "1"}, "strategy": {"type": "x"}}
    patch = {"labels": {"$patch": "replace", "c": "3"}, "strategy": {"$patch": "delete"}}
    assert strategic_merge(stored, patch, SPEC) == {"labels": {"c": "3"}, "strategy": {}}


def test_strategic_merge_drops_directives_without_a_stored_value() -> None:
    patch = {
        "labels": {"$patch": "replace", "a": "1"},
        "containers": [{"$patch": "delete", "name": "c"}, {"name": "d"}],
    }
    assert strategic_merge({}, patch, SPEC) == {"containers": [{"name": "d"}]}


def test_strategic_merge_retain_keys_drops_other_keys() -> None:
    stored = {"strategy": {"type": "Rolling", "rolling": {"surge": "1"}}}
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rolling": None}}
    assert strategic_merge(stored, patch, SPEC) == {"strategy": {"type": "Recreate"}}


def test_strategic_merge_retain_keys_applies_to_items() -> None:
    stored = {"volumes": [{"name": "v", "configMap": {"name": "m"}}]}
    patch = {"volumes": [{"$retainKeys": ["name", "emptyDir"], "name": "v", "emptyDir": {}}]}
    assert strategic_merge(stored, patch, SPEC) == {"volumes": [{"name": "v", "emptyDir": {}}]}


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"containers": [{"image": "j"}]}, 500, "map: map[image:j] does not contain declared merge key: name"),
        (
            {"labels": {"$patch": "nonsense", "l": "m"}},
            500,
            "unknown patch type: nonsense in map: map[$patch:nonsense l:m]",
        ),
        ({"labels": {"$patch": "merge", "d": "4"}}, 500, "unknown patch type: merge in map: map[$patch:merge d:4]"),
        (
            {"containers": [{"$patch": "nonsense", "name": "c"}]},
            500,
            "unknown patch type: nonsense in map: map[$patch:nonsense name:c]",
        ),
        ({"containers": [{"$patch": "merge", "name": "c"}]}, 500, "merging lists cannot yet be specified in the patch"),
        (
            {"containers": [{"$patch": "delete"}]},
            500,
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            {"$setElementOrder/containers": [{"name": "c"}], "containers": [{"name": "d", "image": "n"}]},
            500,
            "The order in patch list:\n[map[image:n name:d]]\n doesn't match $setElementOrder list:\n[map[name:c]]\n",
        ),
        ({"strategy": {"$retainKeys": ["type"], "rolling": {}}}, 400, "invalid patch format of retainKeys"),
        ({"strategy": {"$retainKeys": "type"}}, 400, "invalid patch format of retainKeys"),
        ({"$deleteFromPrimitiveList": ["a"]}, 400, "invalid patch format of primitive list"),
        (
            {"$deleteFromPrimitiveList/containers": ["c"]},
            400,
            "list element types are not identical: [[map[name:c]] [c]]",
        ),
        ({"$setElementOrder": []}, 400, "invalid patch format of setElementOrder list"),
        ({"$setElementOrder/containers": "c"}, 400, "invalid patch format of setElementOrder list"),
        (
            {"$setElementOrder/containers": ["c"], "containers": ["c"]},
            400,
            "invalid patch format of setElementOrder list",
        ),
        ({"containers": ["c"]}, 400, "list element types are not identical: [[map[name:c]] [c]]"),
        ({"containers": [None]}, 400, "list element types are not identical: [[map[name:c]] [<nil>]]"),
        ({"finalizers": [["a"]]}, 422, "the server rejected our request due to an error in our request"),
    ],
)
def test_strategic_merge_rejects_malformed_directives(patch: dict[str, Any], code: int, message: str) -> None:
    stored = {"containers": items("c"), "labels": {"k": "v"}, "strategy": {"type": "x"}, "finalizers": ["f"]}
    with pytest.raises(StatusError) as caught:
        strategic_merge(stored, patch, SPEC)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_strategic_merge_does_not_mutate_or_share_its_arguments() -> None:
    stored = {"containers": [{"name": "c", "env": [{"name": "E"}]}], "labels": {"a": "1"}, "unknown": {"x": [1]}}
    patch = {
        "$setElementOrder/containers": items("cd"),
        "containers": [{"name": "c", "args": ["x"]}, {"name": "d", "args": ["y"]}],
        "labels": {"$patch": "replace", "b": "2"},
        "volumes": [{"name": "v", "emptyDir": {}}],
        "strategy": {"rolling": {}},
    }
    stored_before, patch_before = deepcopy(stored), deepcopy(patch)
    result = strategic_merge(stored, patch, SPEC)
    result["containers"][0]["args"].append("z")
    result["containers"][0]["env"][0]["value"] = "1"
    result["containers"][1]["args"].append("z")
    result["labels"]["c"] = "3"
    result["unknown"]["x"].append(2)
    result["volumes"][0]["emptyDir"]["medium"] = "Memory"
    result["strategy"]["rolling"]["surge"] = "1"
    assert (stored, patch) == (stored_before, patch_before)
