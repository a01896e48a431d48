"""YAML bodies to trees and back."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.yaml_codec import decode_yaml, encode_yaml

PRINTABLE = st.text(st.characters(exclude_categories=("Cs",)))


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
def test_texts(raw: bytes, tree: Any) -> None:
    assert decode_yaml(raw).tree == tree


def test_only_the_first_document_counts() -> None:
    assert decode_yaml(b"a: b\n---\nc: [").tree == {"a": "b"}


def test_anchors_are_copied() -> None:
    tree = decode_yaml(b"a: &x {k: [1]}\nb: *x\n").tree
    tree["a"]["k"].append(2)
    assert tree["b"] == {"k": [1]}


def test_merge_keys_yield_to_keys_of_the_map() -> None:
    assert decode_yaml(b"a: &x {k: 1, j: 2}\nb: {<<: *x, k: 3}\nc: {<<: [*x, {j: 4, l: 5}]}\n").tree == {
        "a": {"k": 1, "j": 2},
        "b": {"k": 3, "j": 2},
        "c": {"k": 1, "j": 2, "l": 5},
    }


def test_keys_become_texts() -> None:
    assert decode_yaml(b"1: a\nyes: b\n2.5: c\n").tree == {"1": "a", "true": "b", "2.5": "c"}


def test_json_is_read_too_and_whole_floats_lose_their_fraction() -> None:
    document = decode_yaml(b'{"a": [2.0, 2.5, "3.0"], "b": {}}')
    assert document.tree == {"a": [2, 2.5, "3.0"], "b": {}}
    assert isinstance(document.tree["a"][0], int)


@pytest.mark.parametrize("raw", [b"a: 1\na: 2\n", b'{"a": 1,\n"a": 2}'])
def test_doubled_keys_are_told_by_line_and_the_last_counts(raw: bytes) -> None:
    document = decode_yaml(raw)
    assert document.tree == {"a": 2}
    assert document.duplicates == ['line 2: key "a" already set in map']
    assert document.strict_error() == 'yaml: unmarshal errors:\n  line 2: key "a" already set in map'


def test_without_doubled_keys_there_is_no_strict_error() -> None:
    assert decode_yaml(b"a: 1").strict_error() == ""


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
def test_malformed_text_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_yaml(raw)
    assert str(caught.value) == message


def test_aliases_of_aliases_are_bounded() -> None:
    lines = [b"a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [b"%c: &%c [%s]" % (name, name, b", ".join([b"*%c" % (name - 1)] * 9)) for name in range(98, 110)]
    with pytest.raises(DecodeError, match="excessive aliasing"):
        decode_yaml(b"\n".join(lines))


def test_aliases_cannot_nest_beyond_the_bound() -> None:
    lines = [b"a0: &a0 [x]", *(b"a%d: &a%d [*a%d]" % (n, n, n - 1) for n in range(1, 250))]
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decode_yaml(b"\n".join(lines))


def test_written_form() -> None:
    tree = {"b": {"l": [{"y": 1}, "x"], "e": []}, "a": "one\ntwo\n", "t": "2024-01-01T00:00:00Z", "n": None, "s": "yes"}
    assert encode_yaml(tree) == (
        b'a: |\n  one\n  two\nb:\n  e: []\n  l:\n  - "y": 1\n  - x\n"n": null\ns: "yes"\nt: "2024-01-01T00:00:00Z"\n'
    )


def test_long_lines_are_not_folded() -> None:
    assert encode_yaml({"a": "word " * 100}).count(b"\n") == 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63) | PRINTABLE,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PRINTABLE, inner, max_size=3),
        max_leaves=12,
    )
)
def test_what_is_written_reads_back_the_same(tree: Any) -> None:
    assert decode_yaml(encode_yaml(tree)).tree == tree


@pytest.mark.parametrize(
    "text",
    [
        "",
        "~",
        "yes",
        "n",
        "1",
        "1_000",
        "0x1f",
        "017",
        ".5",
        "1e3",
        ".inf",
        "12:30",
        "2001-01-01",
        "<<",
        "-",
        "*a",
        "a: b",
        " x",
        "!x",
        "@x",
        "=",
        "# x",
    ],
)
def test_texts_that_look_like_something_else_stay_texts(text: str) -> None:
    assert decode_yaml(encode_yaml([text])).tree == [text]


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    with contextlib.suppress(DecodeError):
        decode_yaml(raw)


def test_decode_yaml_reads_json_without_pyyaml() -> None:
    code = "import sys; from steersman.apimachinery.yaml_codec import decode_yaml; decode_yaml(b'{}'); print('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
