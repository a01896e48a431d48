"""Decoding into built-in types: raises DecodeError only; decoding twice changes nothing; what is decoded can be written, and
read by typed clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from tests.fuzz.choices import Choices, json_case

from steersman.apimachinery.codec import DecodeError, decode_json, encode
from steersman.apimachinery.trees import copy_tree
from steersman.apimachinery.yaml_codec import decode_yaml, encode_yaml
from steersman.client.decoding import decoding_of
from steersman.client.resource_types import typed_model
from steersman.schema import decoding
from steersman.schema.loader import struct_for
from steersman.schema.resources import table

TOKENS = (b'"metadata":', b'"spec":', b"null", b"[]", b"{}", b'"2024-05-06T07:08:09Z"', b'"100m"', b"1.5")


def run(data: bytes) -> None:
    group, version, kind, tree = json_case(data, 4, _draw)
    try:
        struct = struct_for(str(group), str(version), str(kind))
    except KeyError:
        return
    before = copy_tree(tree)
    try:
        decoded = decoding.decode(struct, tree)
    except DecodeError:
        assert tree == before
        return
    assert tree == before
    once = encode(decoded.tree)
    again = decoding.decode(struct, decode_json(once))
    assert again.tree == decode_json(once), (once, again.tree)
    assert not again.unknown, again.unknown
    with suppress(LookupError):  # of kinds without a resource
        decoding_of(typed_model(f"{group}/{version}" if group else str(version), str(kind))).decode_object(once)
    if all(-(2**63) <= number < 2**64 for number in _integers(decoded.tree)):  # others are read as floats
        assert decode_yaml(encode_yaml(decoded.tree)).tree == decode_json(once)


def _integers(tree: object) -> Iterator[int]:
    """Iterate over all integers."""
    if isinstance(tree, int):
        yield tree
    elif isinstance(tree, dict | list):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _integers(item)


def _draw(choices: Choices) -> tuple[object, ...]:
    resource = choices.pick(table().resources)
    try:
        struct = struct_for(resource.group, resource.version, resource.kind)
    except KeyError:
        return "", "v1", "Pod", {}
    return resource.group, resource.version, resource.kind, choices.typed(struct)
