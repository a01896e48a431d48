"""The table of Go's types holds together."""

from __future__ import annotations

import re

import pytest

from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.go_types import TYPES

NAMES = re.findall(r"^(\w+):", TYPES, re.MULTILINE)
REFERENCES = set(re.findall(r"(?:\w:|\.\.\.)([A-Z]\w*)", TYPES))


def test_each_type_is_told_once():
    assert len(NAMES) == len(set(NAMES)) > 50


def test_types_of_fields_are_in_the_table():
    assert REFERENCES - set(NAMES) == {"ObjectMeta"}


@pytest.mark.parametrize("name", NAMES)
def test_a_value_of_each_type_can_be_shown_when_nothing_is_set(name: str):
    assert isinstance(go_form(name, {}), dict)
