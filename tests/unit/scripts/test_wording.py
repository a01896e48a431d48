"""Check of narrative locals in ``scripts.wording``."""

import re

import pytest
from scripts.wording import Rules, check_source, load_rules

RULES = Rules(
    openings=frozenset(),
    words=re.compile(r"(?!)"),
    names=re.compile(r"(?!)"),
    not_yet=(),
    locals=frozenset({"found", "each"}),
    locals_not_yet=("old/",),
    source_locals=frozenset({"where"}),
)


def findings(text, path="new/module.py"):
    return [(finding.kind, finding.line, finding.text) for finding in check_source(path, text, RULES)]


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
    ],
)
def test_check_source_reports_narrative_locals(source, name):
    assert [(kind, text) for kind, _, text in findings(source)] == [("local", name)]


@pytest.mark.parametrize(
    "text", ["class A:\n  found: int = 1\n  each = 2", "self.found = 1", "pod = found", "f(each=1)", "founder = 1"]
)
def test_check_source_accepts_attributes_and_uses(text):
    assert findings(text) == []


@pytest.mark.parametrize(("path", "count"), [("src/module.py", 1), ("tests/module.py", 0)])
def test_check_source_reports_question_words_in_sources(path, count):
    assert len(findings("where = 1", path=path)) == count


def test_check_source_skips_paths_not_checked_yet():
    assert findings("found = 1", path="old/module.py") == []


def test_rules_of_project_forbid_narrative_locals():
    assert {"found", "each", "wanted", "made"} <= load_rules().locals
