"""Entries: stored values become bytes that answer requests."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.cache_sizes import cache_sizes
from steersman.apimachinery.cbor import encode_object
from steersman.apiserver.generic.entry import Entry, Layout, StaleEntry
from steersman.apiserver.generic.storage_codec import UnreadableValueError

LAYOUT = Layout("Pod", "v1")
POD = {"metadata": {"name": "a", "labels": {"app": "x"}}, "spec": {"nodeName": "n"}}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
trees = st.fixed_dictionaries(
    {"metadata": st.dictionaries(st.sampled_from(["name", "uid", "annotations", "x"]), json_values, max_size=4)},
    optional={"spec": json_values, "status": json_values, "data": json_values},
)


def test_resource_version_is_spliced_in_first():
    entry = LAYOUT.entry("/registry/pods/ns/a", LAYOUT.encode(POD), 17)
    assert entry.raw.startswith(b'{"metadata":{"resourceVersion":"17","name":"a"')
    assert entry.revision == 17
    assert entry.name == "a"


def test_stored_value_begins_with_type_meta_and_has_no_resource_version():
    value = LAYOUT.encode({**POD, "metadata": {"resourceVersion": "3", "name": "a"}})
    assert value == b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"nodeName":"n"}}'


@given(tree=trees, revision=st.integers(1, 10**12))
def test_tree_round_trips_with_type_meta_and_resource_version(tree, revision):
    entry = LAYOUT.entry("k", LAYOUT.encode(tree), revision)
    metadata = {**tree["metadata"], "resourceVersion": str(revision)}
    assert LAYOUT.tree(entry) == {"kind": "Pod", "apiVersion": "v1", **tree, "metadata": metadata}
    assert json.loads(LAYOUT.head + entry.raw[1:]) == LAYOUT.tree(entry)


@pytest.mark.parametrize(
    "value",
    [
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}',
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}\n',
        b'{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}',
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"}}',
        b'{"metadata":{"name":"a"}}',
    ],
)
def test_values_of_other_writers_are_reordered(value):
    entry = LAYOUT.entry("k", value, 5)
    assert entry.raw == b'{"metadata":{"resourceVersion":"5","name":"a"}}'


def test_resource_version_outside_metadata_is_kept():
    event = {"metadata": {"name": "e"}, "involvedObject": {"resourceVersion": "3"}}
    entry = LAYOUT.entry("k", LAYOUT.encode(event), 5)
    assert entry.tree()["involvedObject"] == {"resourceVersion": "3"}
    assert entry.tree()["metadata"]["resourceVersion"] == "5"


def test_values_in_cbor_are_read_and_written_again_in_json():
    layout = Layout("Gadget", "example.com/v1", keeps_api_version=True)
    tree = {"kind": "Gadget", "apiVersion": "example.com/v1", "metadata": {"name": "a"}, "spec": list(range(2000))}
    entry = layout.entry("k", encode_object(tree), 5)
    assert isinstance(entry, StaleEntry)
    assert entry.tree() == {"metadata": {"resourceVersion": "5", "name": "a"}, "spec": list(range(2000))}
    assert layout.stored(entry.tree()).startswith(b'{"kind":"Gadget"')
    other = layout.entry("k", encode_object({**tree, "apiVersion": "example.com/v2"}), 5)
    assert other.api_version == "example.com/v2"


CBOR_VALUES = [b"\xd9\xd9\xf7", b"\xd9\xd9\xf7\x80", encode_object({"metadata": 1}), encode_object({"spec": {}})]


@pytest.mark.parametrize(
    "value", [b"", b"k8s\x00\n\x05", b"[]", b"null", b'{"metadata":1}', b'{"spec":{}}', b"{", *CBOR_VALUES]
)
def test_value_that_is_no_object_is_reported(value):
    with pytest.raises(UnreadableValueError):
        LAYOUT.entry("k", value, 1)


def test_deleted_entry_has_the_version_of_the_deletion():
    entry = LAYOUT.entry("k", LAYOUT.encode(POD), 9)
    assert entry.at(100).tree()["metadata"]["resourceVersion"] == "100"
    assert entry.at(100).tree()["spec"] == entry.tree()["spec"]
    assert entry.at(100).revision == 100


def test_equal_labels_share_one_dict():
    one = LAYOUT.entry("k", LAYOUT.encode(POD), 1)
    two = LAYOUT.entry("l", LAYOUT.encode(POD), 2)
    assert one.labels == {"app": "x"}
    assert one.labels is two.labels


@pytest.mark.parametrize("metadata", [{}, {"labels": None}, {"labels": {}}])
def test_entry_without_labels_has_empty_labels(metadata):
    assert LAYOUT.entry("k", LAYOUT.encode({"metadata": metadata}), 1).labels == {}


def test_field_values_are_computed_once():
    calls = []
    entry = LAYOUT.entry("k", LAYOUT.encode(POD), 1)
    labels = {"spec.nodeName": lambda tree: calls.append(1) or tree["spec"]["nodeName"]}
    assert entry.fields(labels) == ("n",)
    assert entry.fields(labels) == ("n",)
    assert calls == [1]


def test_caches_of_labels_and_field_values_are_bounded_by_bytes():
    for number in range(200):
        text = f"{number}{'x' * 100_000}"
        entry = Entry("/a", b'{"metadata":{"resourceVersion":"1","labels":{"a":"%b"}}}' % text.encode(), 1)
        assert entry.labels == {"a": text}
        assert entry.fields({"a": lambda tree: tree["metadata"]["labels"]["a"]}) == (text,)
    sizes = cache_sizes()
    assert 0 < sizes["label sets"] <= 4 << 20
    assert 0 < sizes["field values"] <= 4 << 20
