"""Check of narrative locals in ``scripts.wording``."""

import re

import pytest
from scripts.wording import Rules, check_source, load_rules

RULES = Rules(
    openings=frozenset(),
    words=re.compile(r"(?!)"),
    names=re.compile(r"(?!)"),
    locals=frozenset({"found", "each"}),
)


def findings(text):
    return [(finding.kind, finding.text) for finding in check_source("module.py", text, RULES)]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("found = 1", "found"),
        ("def f(found): ...", "found"),
        ("f = lambda each: each", "each"),
        ("[each for each in pods]", "each"),
        ("for _found in pods: ...", "_found"),
        ("if (found := f()): ...", "found"),
        ("with f() as found: ...", "found"),
        ("try: ...\nexcept E as found: ...", "found"),
        ("match a:\n  case [each]: ...", "each"),
        ("class A:\n  def f(self):\n    found: int = 1", "found"),
        ("self._found = 1", "_found"),
    ],
)
def test_check_source_reports_narrative_locals(source, name):
    assert findings(source) == [("local", name)]


@pytest.mark.parametrize("text", ["class A:\n  found: int = 1\n  each = 2", "pod = found", "f(each=1)", "founder = 1"])
def test_check_source_accepts_attributes_and_uses(text):
    assert findings(text) == []


def test_rules_of_project_forbid_narrative_locals():
    assert {"found", "each", "where", "why"} <= load_rules().locals
