"""Acceptance of valid values: never of one that validation rejects."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.apimachinery.workmeter import Allowance, WorkLimitError, metered
from steersman.schema.openapi_acceptance import Acceptor
from steersman.schema.openapi_values import validate

TEXTS = st.sampled_from(["", "a", "b", "abc", "2020-01-01", "10.0.0.1"])
NUMBERS = st.sampled_from([-1, 0, 1, 2, 2.0, 2.5, 2**31, 2**53, 2**63, 1e300])
SCALARS = st.none() | st.booleans() | TEXTS | NUMBERS
VALUES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below, max_size=3)
)
KEYWORDS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "boolean", "object", "array"]),
        "nullable": st.booleans(),
        "enum": st.lists(SCALARS, min_size=1, max_size=3),
        "format": st.sampled_from(["int32", "int64", "float", "double", "date", "ipv4", "unknown"]),
        "minLength": st.just(1),
        "maxLength": st.just(2),
        "pattern": st.sampled_from(["^a", "("]),
        "minimum": st.sampled_from([1, 2.5]),
        "maximum": st.sampled_from([1, 2**31]),
        "exclusiveMinimum": st.booleans(),
        "exclusiveMaximum": st.booleans(),
        "multipleOf": st.just(2),
        "minItems": st.just(1),
        "maxItems": st.just(2),
        "minProperties": st.just(1),
        "maxProperties": st.just(2),
        "required": st.just(["a"]),
        "x-kubernetes-list-type": st.sampled_from(["atomic", "set", "map"]),
        "x-kubernetes-list-map-keys": st.just(["a"]),
        "x-kubernetes-int-or-string": st.just(True),
    },
)


def _with_parts(below: st.SearchStrategy) -> st.SearchStrategy:
    parts = {
        "properties": st.dictionaries(st.sampled_from("ab"), below, max_size=2),
        "additionalProperties": below | st.just(True),
        "items": below,
        "anyOf": st.lists(below, min_size=1, max_size=2),
        "allOf": st.lists(below, min_size=1, max_size=2),
        "oneOf": st.lists(below, min_size=1, max_size=2),
        "not": below,
    }
    return st.builds(lambda one, more: {**one, **more}, KEYWORDS, st.fixed_dictionaries({}, optional=parts))


@given(st.recursive(KEYWORDS, _with_parts, max_leaves=5), VALUES)
@settings(deadline=None, max_examples=400)
def test_acceptor_accepts_no_value_that_validate_rejects(schema, value):
    if Acceptor(schema).accepts(value):
        assert validate(schema, value) == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a", "enum": ["a", 1]}, "a"),
        ({"type": "string", "format": "date-time"}, "2020-01-01T00:00:00Z"),
        ({"type": "string", "format": "unknown"}, "a"),
        ({"type": "string", "nullable": True}, None),
        ({"type": "integer", "format": "int32", "minimum": 1, "maximum": 5}, 5),
        ({"type": "number"}, 1),
        ({"type": "number", "format": "double", "exclusiveMinimum": True, "minimum": 1}, 1.5),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, "80%"),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, 80),
        ({"type": "boolean", "allOf": [{"type": "boolean"}]}, True),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "maxItems": 2}, ["a", "b"]),
        ({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1}, {"x": "y"}),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "object"}}}, {"a": {"b": [None]}}),
        ({}, {"a": [1]}),
    ],
)
def test_acceptor_accepts_valid_values(schema, value):
    assert Acceptor(schema).accepts(value)
    assert validate(schema, value) == []


def test_acceptor_compares_the_keys_of_map_items():
    schema = {
        "type": "array",
        "items": {"type": "object"},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name", "port"],
    }
    assert Acceptor(schema).accepts([{"name": "a", "port": 1}, {"name": "a", "port": 2}])
    assert not Acceptor(schema).accepts([{"name": "a", "port": 1}, {"name": "a", "port": 1}])


def test_acceptor_spends_from_the_work_meter():
    with metered(Allowance(100)), pytest.raises(WorkLimitError):
        Acceptor({"type": "array", "items": {"type": "integer"}}).accepts(list(range(100)))
