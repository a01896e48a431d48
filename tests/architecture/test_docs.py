"""The pages of docs/ are true: every dotted name in them is there."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"`(steersman(?:\.\w+)+)`")
#: Looks like a module, and is the name of our ASGI extension.
EXTENSIONS = {"steersman.push"}
LINK = re.compile(r"\]\(([^)#:]+)\)")
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


def exists(name: str) -> bool:
    """A module, or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_names_in_a_page_exist(page):
    names = set(NAME.findall(page.read_text())) - EXTENSIONS
    assert [name for name in sorted(names) if not exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page):
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []
