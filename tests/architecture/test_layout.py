"""Layers, sizes, and a test module for every module."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "steersman"
TESTS = ROOT / "tests" / "unit"

#: Larger modules and functions probably combine two concerns.
MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70

MODULES = sorted(p for p in SOURCE.rglob("*.py") if p.name not in ("__init__.py", "__main__.py", "version.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def test_imports_point_down_only():
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_modules_and_functions_stay_small(module):
    text = module.read_text()
    assert text.count("\n") <= MODULE_LINES_MAX
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [f.name for f in functions if (f.end_lineno or 0) - f.lineno + 1 > FUNCTION_LINES_MAX]
    assert long == []


def test_modules_have_docstrings():
    assert [name_of(m) for m in MODULES if not ast.get_docstring(ast.parse(m.read_text()))] == []


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
