"""Names, links, tests and examples in the pages of docs/ exist."""

import importlib
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"`(steersman(?:\.\w+)+)`")
#: Name of our ASGI extension, which looks like a module.
EXTENSIONS = {"steersman.push"}
LINK = re.compile(r"\]\(([^)#:]+)\)")
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


def exists(name: str) -> bool:
    """Report whether a module, or an attribute of one, exists."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            member = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            if not hasattr(member, attribute):
                return False
            member = getattr(member, attribute)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_names_in_a_page_exist(page):
    names = set(NAME.findall(page.read_text())) - EXTENSIONS
    assert [name for name in sorted(names) if not exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_of_a_page_exist(page):
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


#: A test named by its module, with or without the path; the tables of ``docs/origins`` have one in each row.
TEST = re.compile(r"`(?:[\w./]*/)?(test_\w+\.py)::(\w+)`")
ORIGINS = sorted(set((ROOT / "docs" / "origins").glob("*.md")) - {ROOT / "docs" / "origins" / "README.md"})


@cache
def names_of_tests() -> dict[str, set[str]]:
    """Return names of test functions by names of their modules, which several folders may have."""
    names: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        functions = re.findall(r"^(?:async )?def (test_\w+)\(", path.read_text(), re.MULTILINE)
        names.setdefault(path.name, set()).update(functions)
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_tests_named_in_a_page_exist(page):
    named = set(TEST.findall(page.read_text()))
    assert [name for file, name in sorted(named) if name not in names_of_tests().get(file, ())] == []


@pytest.mark.parametrize("page", ORIGINS, ids=lambda p: p.name)
def test_each_row_of_an_origin_page_names_a_test(page):
    rows = re.findall(r"^\|(.+)\|$", page.read_text(), re.MULTILINE)
    rows = [row for row in rows if not row.lstrip().startswith(("---", "original"))]
    assert rows
    assert [row for row in rows if not TEST.search(row)] == []


FENCE = re.compile(r"^```(\w+)\n", re.MULTILINE)
#: Fenced blocks that a test runs, by page and language: docs/testing.md names the tests.
EXAMPLES_RUN = {
    "README.md": {"console": 3, "python": 1},
    "docs/architecture.md": {"mermaid": 1},
    "docs/authentication.md": {"yaml": 2},
    "docs/authorization.md": {"yaml": 1},
    "docs/ci.md": {"sh": 1},
    "docs/command-line.md": {"console": None},
    "docs/components.md": {"console": 1},
    "docs/controllers.md": {"toml": 1, "python": 1},
    "docs/conversion.md": {"yaml": 1},
    "docs/coordinated-leader-election.md": {"sh": 4},
    "docs/drop-in.md": {"yaml": 2},
    "docs/embed.md": {"python": 2},
    "docs/embedded-cluster.md": {"python": None},
    "docs/first-operator-test.md": {"python": 2},
    "docs/logs.md": {"text": 2, "json": 1, "python": 1},
    "docs/nodes.md": {"yaml": 5, "console": 1},
    "docs/scheduler-extenders.md": {"yaml": 1},
    "docs/scheduler-plugins.md": {"python": 3, "toml": 1, "yaml": 1},
    "docs/stages.md": {"yaml": 2},
    "docs/storage.md": {"yaml": 1},
    "docs/test-an-operator.md": {"python": None},
    "docs/test-with-envtest.md": {"sh": 2},
    "docs/test-with-pytest.md": {"python": 1},
    "docs/toolkit.md": {"python": None},
    "docs/toolkit-controllers.md": {"python": None},
    "docs/tour.md": {"console": None},
    "docs/webhook-server.md": {"python": 5},
    "docs/webhooks.md": {"yaml": 1},
}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_of_a_page_are_run_by_a_test(page):
    covered = EXAMPLES_RUN.get(str(page.relative_to(ROOT)), {})
    for language, count in Counter(FENCE.findall(page.read_text())).items():
        assert language in covered, f"no test runs the {language} blocks"
        assert covered[language] in (None, count), f"a test knows {covered[language]} {language} blocks"


#: Paths of the repository in code spans, without placeholders, e.g. ``<kind>``.
REPOSITORY_PATH = re.compile(r"`((?:src|tests|docs|codegen|scripts|examples)/[\w./-]+)`")


def test_files_named_in_contributing_exist():
    named = REPOSITORY_PATH.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_each_page_is_in_the_navigation_of_the_site():
    listed = re.findall(r"([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted([*pages, "CHANGELOG.md", "CONTRIBUTING.md"])
