"""managedFields written by clients or stored earlier: MalformedError only; sets survive a round trip and obey the laws of sets."""

from __future__ import annotations

from typing import Any

from tests.fuzz.choices import Choices, json_case

from steersman.apimachinery.codec import DecodeError, decode_json, encode
from steersman.apimachinery.managedfields import entries, fieldset
from steersman.apimachinery.managedfields.entries import MalformedError
from steersman.schema import decoding
from steersman.schema.loader import OBJECT_META, struct

TOKENS = (b'"f:metadata":', b'"k:{\\"name\\":\\"a\\"}":', b'"v:\\"a\\"":', b'"i:0":', b'".":{}', b'"FieldsV1"', b'"operation":"Apply"',
          b'"manager":', b'"apiVersion":"v1"', b'"fieldsV1":', b'"subresource":', b'"time":"2024-05-06T07:08:09Z"')  # fmt: skip
ELEMENTS = ("f:a", "f:b", "f:metadata", "f:spec", ".", 'k:{"name":"a"}', 'k:{"name":"b","port":1}', 'k:{"port":1,"name":"b"}', 'v:"a"', "v:1",
            "v:1.0", "v:null", 'v:{"a":1}', "i:0", "i:-1", "i:x", "k:[]", "k:", "v:", "f:", "", "x:a", "a", "k:{}", "i:" + "9" * 20,
            "v:1e400", 'k:{"a":{"b":1}}', "f:ä", "i:01")  # fmt: skip


def run(data: bytes) -> None:
    base, left, right = json_case(data, 3, _draw)
    try:
        stored = decoding.decode(struct(OBJECT_META), {"managedFields": base}).tree.get("managedFields")
    except DecodeError:
        stored = None
    owners = entries.read(stored)
    encode(entries.write(owners))
    entries.is_reset(base)
    fault = entries.fault_in(stored)
    try:
        managed = entries.parse(stored)
    except MalformedError as error:
        assert str(error) == fault
    else:
        written = decode_json(encode(entries.write(managed)))
        again = entries.parse(written)
        assert {owner: owned.fields for owner, owned in again.items()} == {
            o: owned.fields for o, owned in managed.items()
        }
    _check_sets(left, right)


def _check_sets(left: Any, right: Any) -> None:
    try:
        one, two = fieldset.decode_set(left), fieldset.decode_set(right)
    except (ValueError, RecursionError):
        return
    assert encode(fieldset.decode_set(decode_json(encode(one)))) == encode(one)
    both, common, rest = fieldset.union(one, two), fieldset.intersection(one, two), fieldset.difference(one, two)
    members = [set(fieldset.paths(node)) for node in (one, two, both, common, rest)]
    assert members[2] == members[0] | members[1], (one, two, both)
    assert members[3] == members[0] & members[1], (one, two, common)
    assert members[4] == members[0] - members[1], (one, two, rest)
    assert encode(both) == encode(fieldset.union(two, one))
    for node in (both, common, rest):
        assert encode(fieldset.decode_set(node)) == encode(node), node


def _draw(choices: Choices) -> tuple[Any, ...]:
    stored = choices.tree(3) if choices.one_in(8) else [_entry(choices) for _ in range(choices.below(4))]
    return stored, _fields(choices, 4), _fields(choices, 4)


def _entry(choices: Choices) -> Any:
    if choices.one_in(12):
        return choices.tree(2)
    entry = {"manager": choices.pick(("m", "n", "", None, 1, "unknown")), "operation": choices.pick(("Apply", "Update", "", "x", None, [])),
             "apiVersion": choices.pick(("v1", "apps/v1", "", None, 1)), "fieldsType": choices.pick(("FieldsV1", "FieldsV1", "", "x", 1)),
             "fieldsV1": _fields(choices, 4), "time": choices.pick(("2024-05-06T07:08:09Z", "", None, 1, "x")),
             "subresource": choices.pick(("", "status", None, 1, []))}  # fmt: skip
    if choices.one_in(6):
        entry.pop(choices.pick(tuple(entry)))
    return entry


def _fields(choices: Choices, depth: int) -> Any:
    if choices.one_in(24):
        return choices.tree(1)
    return {choices.pick(ELEMENTS): _fields(choices, depth - 1) for _ in range(choices.below(4) if depth else 0)}
