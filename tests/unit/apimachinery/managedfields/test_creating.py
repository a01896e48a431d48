"""Cached fields of creators equal those of a comparison."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.managedfields.compare import compare_objects
from steersman.apimachinery.managedfields.creating import Creation, creator_fields
from steersman.apimachinery.managedfields.zero import zero_value
from steersman.apimachinery.typemodel import Field, Scalar, ScalarKind, Struct
from steersman.schema.loader import struct_for

CONFIG_MAP = struct_for("", "v1", "ConfigMap")
EVENT = struct_for("", "v1", "Event")
SERVICE = struct_for("", "v1", "Service")

names = st.sampled_from(["a", "b", "labels", "data", "uid"])
texts = st.dictionaries(names, st.text(max_size=3), max_size=3)
metadata = st.fixed_dictionaries(
    {"name": names},
    optional={
        "labels": texts,
        "annotations": texts,
        "generateName": names,
        "finalizers": st.lists(names, max_size=2, unique=True),
        "ownerReferences": st.just([{"uid": "1", "name": "x"}]),
    },
)
config_maps = st.fixed_dictionaries(
    {"kind": st.just("ConfigMap"), "metadata": metadata},
    optional={"data": texts, "binaryData": texts, "immutable": st.booleans(), "labels": texts},
)
services = st.fixed_dictionaries(
    {"metadata": metadata, "spec": st.dictionaries(st.sampled_from(["type", "clusterIP", "unknown"]), names) | names},
    optional={"status": st.sampled_from([{}, {"loadBalancer": {}}, {"loadBalancer": {"ingress": [{"ip": "::"}]}}])},
)
references = st.dictionaries(st.sampled_from(["kind", "name"]), names, max_size=2)
events = st.fixed_dictionaries(
    {"metadata": metadata},
    optional={
        "count": st.sampled_from([0, 1, False, None]),
        "eventTime": st.sampled_from([None, "", "2026-01-01T00:00:00.000000Z"]),
        "involvedObject": references | st.none() | names,
        "reason": st.sampled_from(["", "Created"]),
        "series": st.none() | st.dictionaries(names, st.integers(0, 1), max_size=2),
        "source": st.dictionaries(st.sampled_from(["component", "host", "unknown"]), names | references, max_size=2),
    },
)


@given(st.lists(config_maps, max_size=4))
def test_fields_of_equals_a_comparison_with_and_without_cache(objects):
    zero, creation = zero_value(CONFIG_MAP), Creation(CONFIG_MAP)
    for new in objects * 2:
        assert creation.fields_of(new) == compare_objects(zero, new, CONFIG_MAP).changed


@given(st.lists(services, max_size=4))
def test_fields_of_excludes_common_metadata(objects):
    zero, creation = zero_value(SERVICE), Creation(SERVICE)
    for new in objects * 2:
        assert creation.fields_of(new) == compare_objects(zero, new, SERVICE).changed


@given(st.lists(events, max_size=6))
def test_fields_of_compares_with_the_fields_of_the_empty_object(objects):
    zero, creation = zero_value(EVENT), Creation(EVENT)
    for new in objects * 2:
        assert creation.fields_of(new) == compare_objects(zero, new, EVENT).changed


def test_fields_of_is_shared_by_events_about_different_objects():
    creation = Creation(EVENT)
    first, second, third = (
        {
            "metadata": {"name": f"{name}.1"},
            "involvedObject": {"kind": "Pod", "name": name},
            "source": {"component": name},
            "message": name,
        }
        for name in ("a", "b", "c")
    )
    creation.fields_of(first)
    assert creation.fields_of(second) is creation.fields_of(third)


@pytest.mark.parametrize("wrong", [5, "a", None, ["a"], {"a": {"b": 1}}])
def test_fields_of_distinguishes_values_of_a_wrong_type(wrong):
    zero, creation = zero_value(CONFIG_MAP), Creation(CONFIG_MAP)
    for new in ({"data": {"a": "b"}}, {"data": wrong}, {"metadata": wrong}, {"metadata": {"labels": wrong}}):
        assert creation.fields_of(new) == compare_objects(zero, new, CONFIG_MAP).changed


def test_fields_of_is_shared_by_objects_of_one_outline():
    creation = Creation(CONFIG_MAP)
    first, second, third = ({"metadata": {"name": name}, "data": {"key": name}} for name in ("a", "b", "c"))
    creation.fields_of(first)
    assert creation.fields_of(second) is creation.fields_of(third)


def test_fields_of_is_shared_by_custom_objects_whose_structs_have_other_values():
    number, text = Field("count", Scalar(ScalarKind.INT64)), Field("name", Scalar(ScalarKind.STRING))
    inner = Field("inner", Struct("Inner", {"count": number, "name": text}))
    spec = Struct("Spec", {"inner": inner, "mode": Field("mode", Scalar(ScalarKind.STRING))})
    custom = Struct("Custom", {"spec": Field("spec", spec)})
    creation, zero = Creation(custom), zero_value(custom)
    forms = [
        {"mode": "x", "inner": {"count": 1}},
        {"inner": {"name": "a"}},
        {"inner": {}},
        {"inner": 5},
        {},
        {"mode": {}},
    ]
    fields = [creation.fields_of({"spec": form}) for form in forms * 2]
    assert fields[:6] == [compare_objects(zero, {"spec": form}, custom).changed for form in forms]
    assert creation.fields_of({"spec": {"mode": "y", "inner": {"count": 2}}}) is fields[6]


def test_fields_of_distinguishes_keys_of_list_items_in_structs():
    zero, creation = zero_value(SERVICE), Creation(SERVICE)
    for port in (80, 81, 80, 81):
        new = {"spec": {"ports": [{"port": port, "protocol": "TCP"}]}}
        assert creation.fields_of(new) == compare_objects(zero, new, SERVICE).changed


def test_fields_of_does_not_cache_large_maps():
    creation = Creation(CONFIG_MAP)
    large = {"data": {str(number): "" for number in range(100)}}
    assert creation.fields_of(large) is not creation.fields_of(large)


def test_fields_of_uses_the_identity_of_a_cached_spec():
    creation, existing = Creation(SERVICE), object()
    creation.fields_of({"spec": {"type": "a"}}, existing)
    first = creation.fields_of({"spec": {"type": "a"}}, existing)
    assert creation.fields_of({"spec": {"type": "b"}}, existing) is first
    assert creation.fields_of({"spec": {"clusterIP": "b"}}, object()) != first


def test_fields_of_caches_nothing_for_the_first_object_of_a_spec():
    creation = Creation(SERVICE)
    new = {"metadata": {"name": "a"}, "spec": {"type": "NodePort"}}
    first = [creation.fields_of(new, is_first_of_spec=True) for _ in range(3)]
    assert first == [creator_fields(new, SERVICE)] * 3
    assert first[1] is not first[2]


def test_creator_fields_equals_the_fields_of_creation():
    new = {"metadata": {"name": "a", "labels": {"b": "c"}}, "spec": {"type": "ClusterIP", "ports": [{"port": 80}]}}
    assert creator_fields(new, SERVICE) == Creation(SERVICE).fields_of(new)
    assert creator_fields(new, SERVICE, lambda fields: {}) == {}
