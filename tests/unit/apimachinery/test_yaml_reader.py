"""YAML texts read as trees."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.yaml_codec import decode_yaml


@pytest.mark.parametrize(
    ("raw", "tree"),
    [
        (b"", None),
        (b"---\n", None),
        (b"hello", "hello"),
        (b"- a\n- 1\n", ["a", 1]),
        (b"# a comment\na: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
        (b"a: >-\n  one\n  two\n", {"a": "one two"}),
        (b"---\na: b\n", {"a": "b"}),
    ],
)
def test_read_yaml_of_each_scalar_and_collection(raw: bytes, tree: Any) -> None:
    assert decode_yaml(raw).tree == tree


def test_read_yaml_returns_the_first_document() -> None:
    assert decode_yaml(b"a: b\n---\nc: [").tree == {"a": "b"}


def test_read_yaml_copies_anchors() -> None:
    tree = decode_yaml(b"a: &x {k: [1]}\nb: *x\n").tree
    tree["a"]["k"].append(2)
    assert tree["b"] == {"k": [1]}


def test_read_yaml_merge_keys_yield_to_keys_of_the_map() -> None:
    assert decode_yaml(b"a: &x {k: 1, j: 2}\nb: {<<: *x, k: 3}\nc: {<<: [*x, {j: 4, l: 5}]}\n").tree == {
        "a": {"k": 1, "j": 2},
        "b": {"k": 3, "j": 2},
        "c": {"k": 1, "j": 2, "l": 5},
    }


def test_read_yaml_converts_keys_to_strings() -> None:
    assert decode_yaml(b"1: a\nyes: b\n2.5: c\n").tree == {"1": "a", "true": "b", "2.5": "c"}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"a: [b\nc: d", "yaml: line 1: did not find expected ',' or ']'"),
        (b"apiVersion: v1\nkind: [ConfigMap\n", "yaml: line 2: did not find expected ',' or ']'"),
        (b"a: b: c", "yaml: mapping values are not allowed in this context"),
        (b"a:\tb\n\tc: d", "yaml: line 2: found a tab character that violates indentation"),
        (b"a: *x", "yaml: unknown anchor 'x' referenced"),
        (b"a: &x [*x]", "yaml: anchor 'x' value contains itself"),
        (b"a: \xff", "yaml: invalid leading UTF-8 octet"),
        (b"a: \x01", "yaml: control characters are not allowed"),
        (b"a: .nan", "json: unsupported value: NaN"),
        (b"a: -.inf", "json: unsupported value: -Inf"),
        (b"a: 1e999", "json: unsupported value: +Inf"),
        (b"<<: 1", "yaml: map merge requires map or sequence of maps as the value"),
        (b"? [a]\n: b", "unsupported map key of type: list"),
        (b"[" * 100_000, "yaml: exceeded max depth"),
    ],
)
def test_read_yaml_rejects_malformed_text(raw: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_yaml(raw)
    assert str(caught.value) == message


def test_read_yaml_bounds_aliases_of_aliases() -> None:
    lines = [b"a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [b"%c: &%c [%s]" % (name, name, b", ".join([b"*%c" % (name - 1)] * 9)) for name in range(98, 110)]
    with pytest.raises(DecodeError, match="excessive aliasing"):
        decode_yaml(b"\n".join(lines))


def test_read_yaml_bounds_nesting_by_aliases() -> None:
    lines = [b"a0: &a0 [x]", *(b"a%d: &a%d [*a%d]" % (n, n, n - 1) for n in range(1, 250))]
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decode_yaml(b"\n".join(lines))


@given(st.binary(max_size=60))
def test_decode_yaml_of_any_bytes_returns_or_raises_decode_error(raw: bytes) -> None:
    with contextlib.suppress(DecodeError):
        decode_yaml(raw)
