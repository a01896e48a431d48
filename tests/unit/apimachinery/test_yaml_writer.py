"""YAML written as Kubernetes writes it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.workmeter import metered
from steersman.apimachinery.yaml_codec import decode_yaml, encode_yaml

PRINTABLE = st.text(st.characters(exclude_categories=("Cs",)))


def test_write_yaml_form() -> None:
    tree = {"b": {"l": [{"y": 1}, "x"], "e": []}, "a": "one\ntwo\n", "t": "2024-01-01T00:00:00Z", "n": None, "s": "yes"}
    assert encode_yaml(tree) == (
        b'a: |\n  one\n  two\nb:\n  e: []\n  l:\n  - "y": 1\n  - x\n"n": null\ns: "yes"\nt: "2024-01-01T00:00:00Z"\n'
    )


def test_write_yaml_does_not_fold_long_lines() -> None:
    assert encode_yaml({"a": "word " * 100}).count(b"\n") == 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63) | PRINTABLE,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PRINTABLE, inner, max_size=3),
        max_leaves=12,
    )
)
def test_write_yaml_reads_back_the_same(tree: Any) -> None:
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
def test_write_yaml_quotes_strings_that_look_like_other_types(text: str) -> None:
    assert decode_yaml(encode_yaml([text])).tree == [text]


def test_long_texts_account_for_their_work() -> None:
    units = []

    class Recorder:
        def spend(self, count: int) -> None:
            units.append(count)

    with metered(Recorder()):
        encode_yaml({"a": ["x" * 10_000] * 5, "b": "x" * 100})
    assert units == [200] * 5
