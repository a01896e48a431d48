"""Public Python names: ``docs/public-names.md`` lists them, the code has them, guides and examples use no others."""

from __future__ import annotations

import ast
import importlib
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "public-names.md"
_SECTION = re.compile(r"^## (steersman[\w.]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"^- `(\w+)`$", re.MULTILINE)
PUBLIC = {module: _NAME.findall(section) for module, section in _SECTION.findall(PAGE.read_text())}
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GUIDES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.py")])


def imported_names(source: str) -> set[tuple[str, str]]:
    """Return ``(module, name)`` of each ``from steersman… import name``."""
    return {
        (node.module, alias.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "steersman"
        for alias in node.names
    }


def sources_of(path: Path) -> list[str]:
    """Return the Python sources in a page or program. Blocks of a page may be the inside of a coroutine."""
    if path.suffix == ".py":
        return [path.read_text()]
    return [
        "async def block():\n" + textwrap.indent(textwrap.dedent(block), "  ")
        for block in _BLOCK.findall(path.read_text())
    ]


def test_page_lists_modules_and_names_in_order() -> None:
    assert len(PUBLIC) > 15
    assert all(names == sorted(names) and len(names) == len(set(names)) for names in PUBLIC.values())


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_exist(module: str) -> None:
    imported = importlib.import_module(module)
    assert [name for name in PUBLIC[module] if not hasattr(imported, name)] == []


@pytest.mark.parametrize("module", PUBLIC)
def test_all_of_a_public_module_is_listed(module: str) -> None:
    exported = getattr(importlib.import_module(module), "__all__", None)
    if exported is not None:
        assert PUBLIC[module] == sorted(exported)


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_guides_and_examples_import_public_names_only(path: Path) -> None:
    used = {pair for source in sources_of(path) for pair in imported_names(source)}
    assert sorted((module, name) for module, name in used if name not in PUBLIC.get(module, ())) == []
