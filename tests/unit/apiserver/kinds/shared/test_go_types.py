"""Consistency of the table of Go types."""

from __future__ import annotations

import re

import pytest

from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.go_types import TYPES

NAMES = re.findall(r"^(\w+):", TYPES, re.MULTILINE)
REFERENCES = set(re.findall(r"(?:\w:|\.\.\.)([A-Z]\w*)", TYPES))


def test_types_are_unique():
    assert len(NAMES) == len(set(NAMES)) > 50


def test_field_types_are_in_table():
    assert REFERENCES - set(NAMES) == {"ObjectMeta"}


@pytest.mark.parametrize("name", NAMES)
def test_go_form_converts_empty_value_of_each_type(name: str):
    assert isinstance(go_form(name, {}), dict)
