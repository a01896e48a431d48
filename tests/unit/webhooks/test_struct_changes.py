"""Changes of structs, carried over to their objects."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.webhooks.struct_changes import carry_changes


@pytest.mark.parametrize(
    ("stored", "before", "after", "result"),
    [
        pytest.param({"new": 1}, {"a": 0}, {"a": 0}, {"new": 1}, id="unchanged: neither unknown fields nor defaults"),
        pytest.param({"new": 1}, {}, {"a": 2}, {"new": 1, "a": 2}, id="added"),
        pytest.param({"new": 1, "a": 1}, {"a": 1}, {"a": 2}, {"new": 1, "a": 2}, id="changed"),
        pytest.param({"new": 1, "a": 1}, {"a": 1}, {}, {"new": 1}, id="removed"),
        pytest.param({"a": 0}, {}, {"a": 2}, {"a": 2}, id="default that the struct omits"),
        pytest.param(
            {}, {"a": {"b": 0, "c": 0}}, {"a": {"b": 1, "c": 0}}, {"a": {"b": 1, "c": 0}}, id="missing parent"
        ),
        pytest.param(
            {"a": {"new": 1, "b": 1}}, {"a": {"b": 1}}, {"a": {"b": 2}}, {"a": {"new": 1, "b": 2}}, id="nested"
        ),
        pytest.param({"a": None}, {"a": []}, {"a": ["x"]}, {"a": ["x"]}, id="null list"),
        pytest.param(
            {"a": [{"new": 1, "n": 1}, {"new": 2, "n": 2}]},
            {"a": [{"n": 1}, {"n": 2}]},
            {"a": [{"n": 1}, {"n": 3}]},
            {"a": [{"new": 1, "n": 1}, {"new": 2, "n": 3}]},
            id="element",
        ),
        pytest.param(
            {"a": [{"new": 1, "n": 1}, {"new": 2, "n": 2}, {"new": 3, "n": 3}]},
            {"a": [{"n": 1}, {"n": 2}, {"n": 3}]},
            {"a": [{"n": 1}, {"n": 3}]},
            {"a": [{"new": 1, "n": 1}, {"new": 3, "n": 3}]},
            id="removed element",
        ),
        pytest.param(
            {"a": [{"new": 1, "n": 1}, {"new": 2, "n": 2}]},
            {"a": [{"n": 1}, {"n": 2}]},
            {"a": [{"n": 1}, {"n": 5}, {"n": 2}]},
            {"a": [{"new": 1, "n": 1}, {"n": 5}, {"new": 2, "n": 2}]},
            id="inserted element",
        ),
        pytest.param(
            {"a": [{"new": 1, "n": 1}, {"new": 2, "n": 2}]},
            {"a": [{"n": 1}, {"n": 2}]},
            {"a": [{"n": 2}, {"n": 1}]},
            {"a": [{"new": 2, "n": 2}, {"new": 1, "n": 1}]},
            id="reordered elements",
        ),
        pytest.param(
            {"a": [{"new": 1, "name": "x"}, {"new": 2, "name": "y"}]},
            {"a": [{"name": "x"}, {"name": "y"}]},
            {"a": [{"name": "y", "n": 1}]},
            {"a": [{"new": 2, "name": "y", "n": 1}]},
            id="changed element, another one removed",
        ),
    ],
)
def test_carry_changes_keeps_all_else(stored: Any, before: Any, after: Any, result: Any) -> None:
    assert carry_changes(stored, before, after) == result
