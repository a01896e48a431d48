"""Shard selectors."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.generic.entry import Layout
from steersman.apiserver.generic.sharding import fnv1a, parse_shard_selector

LAYOUT = Layout("Pod", "v1")


def entry(uid: str, namespace: str = "ns"):
    return LAYOUT.entry("k", LAYOUT.encode({"metadata": {"uid": uid, "namespace": namespace}}), 1)


@pytest.mark.parametrize(
    ("text", "expected"), [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)]
)
def test_hash_is_fnv_1a(text, expected):
    assert fnv1a(text) == expected


@given(uid=st.text(max_size=40), parts=st.integers(1, 16))
def test_each_object_is_in_exactly_one_shard(uid, parts):
    bounds = [(1 << 64) * part // parts for part in range(parts + 1)]
    tests = [
        parse_shard_selector(f"shardRange(object.metadata.uid, '{start:#x}', '{end:#x}')")
        for start, end in itertools.pairwise(bounds)
    ]
    assert sum(test(entry(uid.encode(errors="ignore").decode())) for test in tests) == 1


def test_shard_ranges_can_be_joined():
    whole = parse_shard_selector(
        "shardRange(object.metadata.namespace, '0x0', '0x8000000000000000') || "
        "shardRange(object.metadata.namespace,'0x8000000000000000','0x10000000000000000')"
    )
    assert whole(entry("u"))


@pytest.mark.parametrize(
    "text",
    [
        "half",
        "shardRange(metadata.uid, '0x0', '0x1')",
        "shardRange(object.metadata.name, '0x0', '0x1')",
        "shardRange(object.metadata.uid, 0, 1)",
        "shardRange(object.metadata.uid, '0x2', '0x1')",
        "shardRange(object.metadata.uid, '0x0', '0x10000000000000001')",
        "shardRange(object.metadata.uid, '0x0', '0x1') ||",
        "shardRange(object.metadata.uid, '0x0', '0x1') && true",
        "shardRange(object.metadata.uid, '0x0', '0x1') || shardRange(object.metadata.namespace, '0x1', '0x2')",
        " || ".join(["shardRange(object.metadata.uid, '0x0', '0x1')"] * 100),
    ],
)
def test_invalid_shard_selectors_are_400(text):
    with pytest.raises(StatusError) as refused:
        parse_shard_selector(text)
    assert refused.value.code == 400
