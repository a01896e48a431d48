"""What wheels hold compiled (decision 0006) must be what the compiler takes for what it is.

It takes more than this says; these are the mistakes that show only when the compiled module is imported or used.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]
COMPILED = HOOK["mypyc"]["include"]
#: Classes with one of these above them are ordinary ones, which anybody may extend.
ORDINARY = {
    "Struct",
    "NamedTuple",
    "Protocol",
    "HttpToolsProtocol",
    "Enum",
    "StrEnum",
    "IntEnum",
    "Exception",
    "ValueError",
}
#: Structs and tuples of which the compiler evaluates what their fields are.
EVALUATED = {"Struct", "NamedTuple"}


@cache
def parsed(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def classes(path: str) -> list[ast.ClassDef]:
    return [node for node in ast.walk(parsed(path)) if isinstance(node, ast.ClassDef)]


def bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}


def known_to_checkers_only(path: str) -> set[str]:
    """Names that are imported for type checkers; not aliases, which are looked through."""
    blocks = [n for n in parsed(path).body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    imports = [n for block in blocks for n in block.body if isinstance(n, ast.ImportFrom | ast.Import)]
    return {alias.asname or alias.name for n in imports for alias in n.names if alias.name not in {"Callable", "Tree"}}


def test_modules_are_there_and_in_order():
    assert sorted(COMPILED) == COMPILED
    assert [path for path in COMPILED if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("path", COMPILED)
def test_a_module_holds_nothing_that_the_compiler_misunderstands(path):
    faults = []
    hidden = known_to_checkers_only(path)
    for node in classes(path):
        if bases(node) & EVALUATED:
            fields = [item for item in node.body if isinstance(item, ast.AnnAssign)]
            names = {n.id for item in fields for n in ast.walk(item.annotation) if isinstance(n, ast.Name)}
            faults += [f"{node.name}: {name} must be imported at run time" for name in sorted(names & hidden)]
            if any(item.value is not None and "field(" in ast.unparse(item.value) for item in fields):
                faults.append(f"{node.name}: a default that is no value of its type (msgspec.field)")
        if bases(node) & {"str", "int", "float", "list", "dict", "tuple"}:
            faults.append(f"{node.name} extends a built-in type")
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.AsyncFunctionDef) and any(isinstance(inner, ast.Yield) for inner in ast.walk(node)):
            faults.append(f"{node.name} is an asynchronous generator")
        if isinstance(node, ast.Try) and any(
            isinstance(inner, ast.Await) for last in node.finalbody for inner in ast.walk(last)
        ):
            faults.append(
                f"line {node.lineno}: waits in a finally, where a cancellation that was dealt with comes back"
            )
    assert faults == []


def test_nobody_outside_extends_a_compiled_class():
    native = {node.name for path in COMPILED for node in classes(path) if not bases(node) & ORDINARY}
    others = [
        str(path.relative_to(ROOT))
        for folder in ("src", "tests", "benchmarks", "examples")
        for path in (ROOT / folder).rglob("*.py")
        if str(path.relative_to(ROOT)) not in COMPILED
    ]
    heirs = [f"{path}: {node.name}" for path in others for node in classes(path) if bases(node) & native]
    assert heirs == []
