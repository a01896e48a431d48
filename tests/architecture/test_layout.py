"""Layers, sizes, and a test module for every module."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "steersman"
TESTS = ROOT / "tests" / "unit"

#: Larger modules and functions probably combine two concerns.
MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70

MODULES = sorted(p for p in SOURCE.rglob("*.py") if p.name not in ("__init__.py", "__main__.py", "version.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


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
    long = []
    for module in MODULES:
        nodes = ast.walk(parsed(module))
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        sizes = {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions}
        long += [f"{name_of(module)}: {name}" for name, lines in sizes.items() if lines > FUNCTION_LINES_MAX]
    assert long == []


def test_modules_have_docstrings():
    assert [name_of(module) for module in MODULES if not ast.get_docstring(parsed(module))] == []


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
