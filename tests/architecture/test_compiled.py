"""Rules for the modules that wheels hold compiled (decision 0006), and for the list of their folders.

They find mistakes that show only when a compiled module is imported or used; the compiler reports others itself.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest
from pathspec import GitIgnoreSpec

ROOT = Path(__file__).parents[2]
HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]
INCLUDE, EXCLUDE = HOOK["mypyc"]["include"], HOOK["mypyc"]["exclude"]
SOURCES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py"))


def matching(patterns: list[str]) -> list[str]:
    """Source files that patterns of the build hook match."""
    return sorted(GitIgnoreSpec.from_lines(patterns).match_files(SOURCES))


COMPILED = [path for path in matching(INCLUDE) if path not in matching(EXCLUDE)]
#: Modules that cannot be compiled are an exception; a folder of them is not included.
EXCLUDED_MAX = 20
#: Classes with one of these above them are ordinary ones, which anybody may extend.
ORDINARY = {
    "Struct",
    "NamedTuple",
    "Protocol",
    "Enum",
    "StrEnum",
    "IntEnum",
    "Exception",
    "ValueError",
}
#: Structs and tuples of which the compiler evaluates what their fields are.
EVALUATED = {"Struct", "NamedTuple"}


#: Keywords of a Struct's class whose loss, which the compiler's way of making the class means, changes no result:
#: Structs without ``eq`` are never compared, and one that needs ``kw_only`` for its order cannot be imported.
HARMLESS = {"eq", "frozen", "gc", "kw_only"}


@cache
def parsed(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def classes(path: str) -> list[ast.ClassDef]:
    return [node for node in ast.walk(parsed(path)) if isinstance(node, ast.ClassDef)]


def bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}


def decoded_structs(path: str) -> set[str]:
    """Names that a module hands to a decoder as a type, also within other types."""
    calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    types = [arg for call in calls if ast.unparse(call.func).endswith("Decoder") for arg in call.args]
    types += [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "type"]
    named = {node.id for one in types for node in ast.walk(one) if isinstance(node, ast.Name)}
    nested = {node.name: node for node in classes(path) if "Struct" in bases(node)}
    found: set[str] = set()
    while waiting := (named & nested.keys()) - found:
        found |= waiting
        named |= {n.id for name in waiting for n in ast.walk(nested[name]) if isinstance(n, ast.Name)}
    return found


def known_to_checkers_only(path: str) -> set[str]:
    """Names that are imported for type checkers; not aliases, which are looked through."""
    blocks = [n for n in parsed(path).body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    imports = [n for block in blocks for n in block.body if isinstance(n, ast.ImportFrom | ast.Import)]
    return {alias.asname or alias.name for n in imports for alias in n.names if alias.name not in {"Callable", "Tree"}}


def test_include_names_folders_in_order():
    assert [pattern for pattern in INCLUDE if not pattern.endswith(("/", "/*.py"))] == []
    assert sorted(INCLUDE) == INCLUDE
    assert [pattern for pattern in INCLUDE if not matching([pattern])] == []


def test_exclude_is_short_and_each_entry_excludes_a_module_of_an_included_folder():
    assert len(EXCLUDE) <= EXCLUDED_MAX
    assert [pattern for pattern in EXCLUDE if not set(matching([pattern])) & set(matching(INCLUDE))] == []


def test_exclude_gives_a_reason_before_each_group():
    lines = (ROOT / "pyproject.toml").read_text().partition("\nexclude = [\n")[2].partition("\n]")[0].splitlines()
    assert lines[0].strip().startswith("# ")
    assert sum(line.strip().startswith('"') for line in lines) == len(EXCLUDE)


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
            lost = sorted({keyword.arg or "**" for keyword in node.keywords} - HARMLESS)
            faults += [f"{node.name}: the compiler drops {keyword}=" for keyword in lost]
            if node.name in decoded_structs(path) and any(
                isinstance(item.annotation, ast.Subscript) for item in fields
            ):
                faults.append(f"{node.name}: is decoded, and the compiler forgets what its containers hold")
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


def imported_names(path: str) -> dict[str, str]:
    """Full names of what a module imports from the package, by the names it uses."""
    imports = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names}


def module_name(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def base_names(path: str, node: ast.ClassDef) -> set[str]:
    """Full names of the classes that a class extends."""
    imported = imported_names(path)
    written = [ast.unparse(base).partition("[")[0].partition(".") for base in node.bases]
    return {imported[first] + dot + rest for first, dot, rest in written if first in imported}


def test_no_interpreted_class_extends_a_compiled_one():
    native = {
        f"{module_name(path)}.{node.name}" for path in COMPILED for node in classes(path) if not bases(node) & ORDINARY
    }
    # Packages give classes of their modules under their own names.
    native |= {
        f"{module_name(path)}.{name}"
        for path in SOURCES
        if path.endswith("/__init__.py")
        for name, full_name in imported_names(path).items()
        if full_name in native
    }
    others = [
        str(path.relative_to(ROOT))
        for folder in ("src", "tests", "benchmarks", "examples")
        for path in (ROOT / folder).rglob("*.py")
        if str(path.relative_to(ROOT)) not in COMPILED
    ]
    heirs = [f"{path}: {node.name}" for path in others for node in classes(path) if base_names(path, node) & native]
    assert heirs == []
