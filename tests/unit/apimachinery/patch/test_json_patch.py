"""JSON patches."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.patch import apply_json_patch, parse_json_patch
from steersman.apimachinery.patch.json_patch import NotApplicableError, apply_operations

OBJECT = {"metadata": {"name": "a", "finalizers": ["x", "y"]}, "data": {"k/1": "v", "m~n": "w"}}


def op(kind: str, path: str, value: Any = None, **more: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, "value": value, **more}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([op("add", "/data/b", "2")], {"data": {"b": "2"}}),
        ([{"op": "add", "path": "/data/b"}], {"data": {"b": None}}),
        ([op("add", "/metadata/finalizers/-", "z")], {"metadata": {"finalizers": ["x", "y", "z"]}}),
        ([op("add", "/metadata/finalizers/0", "z")], {"metadata": {"finalizers": ["z", "x", "y"]}}),
        ([op("add", "/metadata/finalizers/2", "z")], {"metadata": {"finalizers": ["x", "y", "z"]}}),
        ([op("add", "/metadata/finalizers/-1", "z")], {"metadata": {"finalizers": ["x", "y", "z"]}}),
        ([op("remove", "/metadata/finalizers/-1")], {"metadata": {"finalizers": ["x"]}}),
        ([op("remove", "/metadata/finalizers/0")] * 2, {"metadata": {"finalizers": []}}),
        ([op("replace", "/metadata/finalizers/1", "z")], {"metadata": {"finalizers": ["x", "z"]}}),
        ([op("replace", "/data/none", "x")], {"data": {"none": "x"}}),
        ([op("replace", "/data/k~11", "x")], {"data": {"k/1": "x"}}),
        ([op("replace", "/data/m~0n", "x")], {"data": {"m~n": "x"}}),
        (
            [{"op": "move", "from": "/metadata/finalizers/0", "path": "/metadata/finalizers/1"}],
            {"metadata": {"finalizers": ["y", "x"]}},
        ),
        ([{"op": "copy", "from": "/metadata/name", "path": "/data/copy"}], {"data": {"copy": "a"}}),
        ([{"op": "copy", "from": "/data/none", "path": "/data/copy"}], {"data": {"copy": None}}),
        ([op("test", "/metadata/annotations", None)], {}),
        ([op("test", "/metadata", {"finalizers": ["x", "y"], "name": "a"})], {}),
        ([op("test", "", OBJECT)], {}),
        ([], {}),
    ],
)
def test_apply_json_patch_of_each_operation(operations: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    result = apply_json_patch(OBJECT, operations)
    for key, members in expected.items():
        assert {name: result[key][name] for name in members} == members


def test_apply_json_patch_ignores_text_before_the_first_slash() -> None:
    assert apply_json_patch({"a": {}}, [op("add", "ignored/b", 1)]) == {"a": {}, "b": 1}


def test_apply_json_patch_replaces_the_whole_object() -> None:
    assert apply_json_patch({"a": 1}, [op("replace", "", {"b": 2})]) == {"b": 2}


@pytest.mark.parametrize(
    "operation",
    [
        op("append", "/data/b", "2"),
        {"path": "/data/b", "value": "2"},
        {"op": "add", "value": "2"},
        {"op": "copy", "path": "/data/b"},
        op("add", "", {}),
        op("remove", ""),
        op("replace", "", "x"),
        op("add", "/none/b", "2"),
        op("add", "/metadata/name/b", "2"),
        op("add", "/metadata/finalizers/3", "z"),
        op("add", "/metadata/finalizers/x", "z"),
        op("replace", "/metadata/finalizers/2", "z"),
        op("replace", "/metadata/finalizers/-3", "z"),
        op("replace", "/metadata/annotations/x", "y"),
        op("remove", "/metadata/finalizers/2"),
        op("remove", "/metadata/finalizers/first"),
        op("remove", "/data/none"),
        {"op": "move", "from": "/data/none", "path": "/data/b"},
        op("test", "/metadata/name", "b"),
        op("test", "/metadata/finalizers", ["y", "x"]),
        op("test", "/metadata/finalizers", ["x"]),
        op("test", "/metadata/name", None),
    ],
)
def test_apply_json_patch_is_422_when_an_operation_fails(operation: dict[str, Any]) -> None:
    with pytest.raises(StatusError) as caught:
        apply_json_patch(OBJECT, [operation])
    assert caught.value.code == 422
    assert caught.value.message == "the server rejected our request due to an error in our request"
    assert caught.value.status["details"] == {}


@pytest.mark.parametrize(("stored", "tested"), [(2, "2"), (2, 2.0), (1, True), (0, None)])
def test_apply_json_patch_test_compares_types(stored: Any, tested: Any) -> None:
    with pytest.raises(StatusError):
        apply_json_patch({"n": stored}, [op("test", "/n", tested)])


def test_apply_json_patch_does_not_mutate_or_share_its_arguments() -> None:
    obj, operations = deepcopy(OBJECT), [op("add", "/data/l", {"x": [1]}), op("add", "/metadata/finalizers/0", "z")]
    before = deepcopy(operations)
    result = apply_json_patch(obj, operations)
    result["data"]["l"]["x"].append(2)
    result["metadata"]["finalizers"].clear()
    assert obj == OBJECT
    assert operations == before


def test_apply_json_patch_bounds_copies() -> None:
    operations = [op("add", "/a", {"x": "x" * 1000})]
    operations += [{"op": "copy", "from": "/a", "path": f"/a/{n}"} for n in range(50)]
    with pytest.raises(StatusError) as caught:
        apply_json_patch({}, operations)
    assert caught.value.code == 422


def test_apply_json_patch_bounds_nesting_by_moves() -> None:
    operations = [op("add", "/a", {})]
    for _ in range(2000):
        operations += [op("add", "/b", {}), {"op": "move", "from": "/a", "path": "/b/a"}]
        operations += [{"op": "move", "from": "/b", "path": "/a"}]
    with pytest.raises(StatusError) as caught:
        apply_json_patch({}, operations)
    assert caught.value.code == 422


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"hello", "error decoding patch: invalid character 'h' looking for beginning of value"),
        (b"", "error decoding patch: unexpected end of JSON input"),
        (b"{}", "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (b"[1]", "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (
            b'[{"op":1}]',
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
    ],
)
def test_parse_json_patch_is_400_for_malformed_patches(raw: bytes, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        parse_json_patch(raw)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_parse_json_patch_rejects_null_operations() -> None:
    assert parse_json_patch(b"null").operations == []


def test_parse_json_patch_is_413_for_too_many_operations() -> None:
    one = b'{"op":"test","path":"/a"}'
    assert len(parse_json_patch(b"[" + b",".join([one] * 10_000) + b"]").operations) == 10_000
    with pytest.raises(StatusError) as caught:
        parse_json_patch(b"[" + b",".join([one] * 10_001) + b"]")
    assert (caught.value.code, caught.value.message) == (
        413,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
    )


def test_parse_json_patch_reports_unknown_and_duplicate_members() -> None:
    raw = b'[{"op":"add","path":"/a","value":1,"value":2,"typo":3}]'
    assert parse_json_patch(raw).strict_messages == [
        'json patch duplicate field "[0].value"',
        'json patch unknown field "[0].typo"',
    ]


PATHS = st.sampled_from(["", "/", "/a", "/a/b", "/l", "/l/0", "/l/-", "/l/-1", "/l/1/x", "a", "/~0~1"])
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"])},
    optional={"path": PATHS, "from": PATHS, "value": st.sampled_from([None, 1, "x", {}, {"b": []}, [{"x": 1}, {}]])},
)


@given(st.lists(OPERATIONS, max_size=6))
def test_apply_json_patch_of_any_patch_applies_or_is_422(operations: list[dict[str, Any]]) -> None:
    try:
        result = apply_json_patch({"a": {"b": 1}, "l": [{}, {"x": 0}]}, operations)
    except StatusError as error:
        result = error.status
    assert json.dumps(result)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"path": "/a"}, "Unexpected kind: unknown"),
        ({"op": "", "path": "/a"}, "Unexpected kind: "),
        ({"op": "add", "value": 1}, "add operation failed to decode path: missing value"),
        (
            {"op": "add", "path": "/none/b", "value": 1},
            'add operation does not apply: doc is missing path: "/none/b": missing value',
        ),
        (
            {"op": "add", "path": "/list/9/b", "value": 1},
            'add operation does not apply: doc is missing path: "/list/9/b": missing value',
        ),
        (
            {"op": "add", "path": "/list/9", "value": 1},
            "error in add for path: '/list/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            {"op": "add", "path": "/list/x", "value": 1},
            (
                "error in add for path: '/list/x': value was not a proper array index: 'x': strconv.Atoi: "
                'parsing "x": invalid syntax'
            ),
        ),
        (
            {"op": "remove", "path": "/none"},
            "error in remove for path: '/none': Unable to remove nonexistent key: none: missing value",
        ),
        ({"op": "remove", "path": ""}, 'remove operation does not apply: doc is missing path: "": missing value'),
        ({"op": "replace"}, "replace operation failed to decode path: operation missing path field: missing value"),
        (
            {"op": "replace", "path": "/none/b"},
            "replace operation does not apply: doc is missing path: /none/b: missing value",
        ),
        (
            {"op": "replace", "path": "/list/-"},
            "replace operation does not apply: doc is missing key: /list/-: missing value",
        ),
        (
            {"op": "move", "path": "/b"},
            "move operation failed to decode from: operation missing from field: missing value",
        ),
        (
            {"op": "move", "from": "/none", "path": "/b"},
            "error in move for path: 'none': Unable to remove nonexistent key: none: missing value",
        ),
        (
            {"op": "move", "from": "/a", "path": "/none/b"},
            "move operation does not apply: doc is missing destination path: /none/b: missing value",
        ),
        (
            {"op": "copy", "from": "/list/9", "path": "/b"},
            "error in copy for from: '/list/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        ({"op": "copy", "from": "/a"}, "copy operation failed to decode path: missing value"),
        (
            {"op": "test", "path": "/none/b", "value": 1},
            "test operation does not apply: is missing path: /none/b: missing value",
        ),
        ({"op": "test", "path": "/a", "value": 2}, "testing value /a failed: test failed"),
    ],
)
def test_apply_operations_reports_errors_as_the_library(operation: dict[str, Any], message: str) -> None:
    with pytest.raises(NotApplicableError) as caught:
        apply_operations({"a": 1, "list": [1]}, [operation])
    assert str(caught.value) == message
