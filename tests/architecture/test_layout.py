"""Layers, sizes, and a test module for every module."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "steersman"
TESTS = ROOT / "tests" / "unit"

#: Larger modules and functions probably combine two concerns.
MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70

MODULES = sorted(p for p in SOURCE.rglob("*.py") if p.name not in ("__init__.py", "__main__.py", "version.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


class Outline(NamedTuple):
    """Facts of a module that need its syntax tree."""

    has_docstring: bool
    long_functions: list[str]


@cache
def outlines() -> dict[str, Outline]:
    """Return the outlines of all modules by name."""
    return {name_of(module): outline(ast.parse(module.read_text())) for module in MODULES}


def outline(tree: ast.Module) -> Outline:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    sizes = {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions}
    return Outline(bool(ast.get_docstring(tree)), [n for n, lines in sizes.items() if lines > FUNCTION_LINES_MAX])


def test_imports_point_down_only():
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_modules_stay_small():
    assert [name_of(m) for m in MODULES if m.read_text().count("\n") > MODULE_LINES_MAX] == []


def test_functions_stay_small():
    assert [f"{name}: {function}" for name, facts in outlines().items() for function in facts.long_functions] == []


def test_modules_have_docstrings():
    assert [name for name, facts in outlines().items() if not facts.has_docstring] == []


def test_modules_have_test_modules():
    """``a/b.py`` is tested by ``tests/unit/a/test_b.py``; a package may be tested as a whole."""
    missing = []
    for module in MODULES:
        place = TESTS / module.relative_to(SOURCE).parent
        own = place / f"test_{module.stem}.py"
        whole = place.with_name(f"test_{place.name}.py")
        if not own.exists() and not whole.exists():
            missing.append(name_of(module))
    assert missing == []


def test_sources_have_no_todo_comments():
    """Missing features are listed in the documentation, not in comments."""
    marks = ("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")
    marked = [f"{name_of(m)}: {mark}" for m in MODULES for mark in marks if mark in m.read_text()]
    assert marked == []
