"""LimitRanges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, error_texts, is_idempotent, tree

from steersman.apiserver.kinds.core.limitrange import LimitRangeStrategy

KIND = LimitRangeStrategy()
amounts = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "0.5", "2u", "1Gi"]), min_size=1)
items = st.fixed_dictionaries(
    {"type": st.sampled_from(["Container", "Pod"])},
    optional=dict.fromkeys(("max", "min", "default", "defaultRequest"), amounts),
)


def completed(**item: dict) -> dict:
    return defaulted(KIND, tree(spec={"limits": [{"type": "Container", **item}]}))["spec"]["limits"][0]


@pytest.mark.parametrize(
    ("item", "default", "request_"),
    [
        ({"max": {"cpu": "2"}}, {"cpu": "2"}, {"cpu": "2"}),
        ({"max": {"cpu": "2"}, "min": {"cpu": "1"}}, {"cpu": "2"}, {"cpu": "2"}),
        ({"default": {"cpu": "1"}}, {"cpu": "1"}, {"cpu": "1"}),
        ({"min": {"cpu": "1"}}, None, {"cpu": "1"}),
        ({"max": {"cpu": "4"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}, {"cpu": "2"}, {"cpu": "1"}),
        ({}, None, None),
    ],
)
def test_default_completes_container_limits(item: dict, default: dict | None, request_: dict | None):
    whole = completed(**item)
    assert (whole.get("default"), whole.get("defaultRequest")) == (default, request_)


def test_default_keeps_pod_limits():
    obj = tree(spec={"limits": [{"type": "Pod", "max": {"cpu": "2"}}]})
    assert defaulted(KIND, obj) == obj


@given(st.lists(items, max_size=3))
def test_default_is_idempotent(limits: list[dict]):
    assert is_idempotent(KIND, tree(spec={"limits": limits}))


def test_validate_on_create_and_update():
    obj = tree(spec={"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]})
    faults = ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1']
    assert (
        error_texts(KIND.validate(context(), obj)) == error_texts(KIND.validate_update(context(), obj, obj)) == faults
    )


def test_put_creates_and_cells_show_creation_time():
    assert KIND.allow_create_on_update
    assert KIND.cells(tree(), NOW) == ["a", "2026-01-01T00:00:00Z"]
