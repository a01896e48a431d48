"""Rules for compiled modules (decision 0006), and for the list of their folders.

They find mistakes that show only when a compiled module is imported or used; the compiler reports others itself.
"""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path

from pathspec import GitIgnoreSpec

ROOT = Path(__file__).parents[2]
HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]
INCLUDE, EXCLUDE = HOOK["mypyc"]["include"], HOOK["mypyc"]["exclude"]
SOURCES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py"))


def matching(patterns: list[str]) -> list[str]:
    """Return source files that match patterns of the build hook."""
    return sorted(GitIgnoreSpec.from_lines(patterns).match_files(SOURCES))


INTERPRETED = set(matching(EXCLUDE))
COMPILED = [path for path in matching(INCLUDE) if path not in INTERPRETED]
#: Excluded modules are an exception; a folder of them is not included.
EXCLUDED_MAX = 32
#: Classes with one of these decorators are ordinary ones, which any module may extend.
ORDINARY = {
    "Struct",
    "NamedTuple",
    "Protocol",
    "Enum",
    "StrEnum",
    "IntEnum",
}
#: Structs and tuples whose field types the compiler evaluates.
EVALUATED = {"Struct", "NamedTuple"}


#: Keywords of a Struct's class whose loss, which the compiler's way of making the class means, changes no result:
#: Structs without ``eq`` are never compared, and one that needs ``kw_only`` for its order cannot be imported.
HARMLESS = {"eq", "frozen", "gc", "kw_only"}


@lru_cache(maxsize=2)  # trees are large
def parsed(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


@lru_cache(maxsize=2)
def nodes(path: str) -> list[ast.AST]:
    return list(ast.walk(parsed(path)))


def classes(path: str) -> list[ast.ClassDef]:
    return [node for node in nodes(path) if isinstance(node, ast.ClassDef)]


def bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}


@lru_cache(maxsize=1)
def decoded_structs(path: str) -> set[str]:
    """Return names that a module decodes or converts to, also within other types."""
    calls = [node for node in nodes(path) if isinstance(node, ast.Call)]
    types = [arg for call in calls if ast.unparse(call.func).endswith(("Decoder", "convert")) for arg in call.args]
    types += [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "type"]
    named = {node.id for one in types for node in ast.walk(one) if isinstance(node, ast.Name)}
    nested = {node.name: node for node in classes(path) if "Struct" in bases(node)}
    decoded: set[str] = set()
    while waiting := (named & nested.keys()) - decoded:
        decoded |= waiting
        named |= {n.id for name in waiting for n in ast.walk(nested[name]) if isinstance(n, ast.Name)}
    return decoded


def known_to_checkers_only(path: str) -> set[str]:
    """Return names that are imported for type checkers; aliases are resolved."""
    blocks = [n for n in parsed(path).body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    imports = [n for block in blocks for n in block.body if isinstance(n, ast.ImportFrom | ast.Import)]
    return {alias.asname or alias.name for n in imports for alias in n.names if alias.name not in {"Callable", "Tree"}}


@lru_cache(maxsize=1)
def interpreted_names(path: str) -> set[str]:
    """Return names that a module imports from modules that are not compiled."""
    imports = [node for node in nodes(path) if isinstance(node, ast.ImportFrom) and node.module]
    outer = [node for node in imports if f"src/{node.module.replace('.', '/')}.py" in INTERPRETED]
    return {alias.asname or alias.name for node in outer for alias in node.names}


def test_include_names_folders_in_order():
    assert [pattern for pattern in INCLUDE if not pattern.endswith(("/", "/*.py"))] == []
    assert sorted(INCLUDE) == INCLUDE
    assert [pattern for pattern in INCLUDE if not matching([pattern])] == []


def test_exclude_is_short_and_names_modules_of_included_folders():
    assert len(EXCLUDE) <= EXCLUDED_MAX
    included = set(matching(INCLUDE))
    assert [pattern for pattern in EXCLUDE if included.isdisjoint(matching([pattern]))] == []


def test_exclude_gives_a_reason_before_each_group():
    lines = (ROOT / "pyproject.toml").read_text().partition("\nexclude = [\n")[2].partition("\n]")[0].splitlines()
    assert lines[0].strip().startswith("# ")
    assert sum(line.strip().startswith('"') for line in lines) == len(EXCLUDE)


@cache
def slotted() -> set[str]:
    """Return names of interpreted classes with ``__slots__``, which compiled ones cannot extend."""
    return {node.name for path in sorted(INTERPRETED) for node in classes(path) if "__slots__ = " in ast.unparse(node)}


def test_compiled_modules_avoid_constructs_that_mypyc_breaks():
    assert [f"{path}: {fault}" for path in COMPILED for fault in broken_constructs(path)] == []


def broken_constructs(path: str) -> list[str]:
    """Describe what would be wrong in the compiled module."""
    faults = []
    hidden = known_to_checkers_only(path)
    for node in classes(path):
        if bases(node) & EVALUATED:
            fields = [item for item in node.body if isinstance(item, ast.AnnAssign)]
            names = {n.id for item in fields for n in ast.walk(item.annotation) if isinstance(n, ast.Name)}
            faults += [f"{node.name}: {name} must be imported at run time" for name in sorted(names & hidden)]
            calls = [
                item for item in fields if isinstance(item.value, ast.Call) and ast.unparse(item.value) != "frozenset()"
            ]
            faults += [f"{node.name}: a call as a default: {ast.unparse(item)}" for item in calls]
            lost = sorted({keyword.arg or "**" for keyword in node.keywords} - HARMLESS)
            faults += [f"{node.name}: the compiler drops {keyword}=" for keyword in lost]
            if node.name in decoded_structs(path) and any(
                isinstance(item.annotation, ast.Subscript | ast.BinOp) for item in fields
            ):
                faults.append(f"{node.name}: is decoded, and the compiler forgets parts of its types")
        extended = bases(node) & interpreted_names(path)
        faults += [
            f"{node.name} extends {name}, an interpreted class with __slots__" for name in sorted(extended & slotted())
        ]
        if bases(node) & {"str", "int", "float", "list", "dict", "tuple"}:
            faults.append(f"{node.name} extends a built-in type")
        if any(isinstance(inner, ast.Constant) and inner.value == "__weakref__" for inner in ast.walk(node)):
            faults.append(f"{node.name}: the compiler does not make its objects weakly referable")
    for node in nodes(path):
        if isinstance(node, ast.AsyncFunctionDef) and any(isinstance(inner, ast.Yield) for inner in ast.walk(node)):
            faults.append(f"{node.name} is an asynchronous generator")
        if isinstance(node, ast.Try) and any(
            isinstance(inner, ast.Await) for last in node.finalbody for inner in ast.walk(last)
        ):
            faults.append(
                f"line {node.lineno}: waits in a finally, where a cancellation that was dealt with comes back"
            )
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "isinstance"
            and isinstance(node.args[1], ast.BinOp)
        ):
            faults.append(f"line {node.lineno}: builds a union of types for each call of isinstance")
        if isinstance(node, ast.Compare) and any(map(is_starred_display, node.comparators)):
            faults.append(f"line {node.lineno}: the compiler fails at a starred item after in")
    faults += [f"{name} is caught as different types" for name in names_of_different_exceptions(path)]
    faults += [f"{name}: a tuple of floats needs tuple[float, ...]" for name in final_float_tuples(path)]
    return faults


def is_starred_display(node: ast.expr) -> bool:
    """Report whether an expression is a tuple, list or set that unpacks another."""
    return isinstance(node, ast.Tuple | ast.List | ast.Set) and any(isinstance(n, ast.Starred) for n in node.elts)


def names_of_different_exceptions(path: str) -> list[str]:
    """Return names of different exceptions in handlers of one function: the compiler uses the first type."""
    faults = []
    for function in nodes(path):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            caught: dict[str, set[str]] = {}
            for node in ast.walk(function):
                if isinstance(node, ast.ExceptHandler) and node.name and node.type is not None:
                    caught.setdefault(node.name, set()).add(ast.unparse(node.type))
            faults += [f"{function.name}: {name}" for name, types in caught.items() if len(types) > 1]
    return faults


def final_float_tuples(path: str) -> list[str]:
    """Return constants that the compiler stores unboxed, and then takes for unset."""
    return [
        ast.unparse(node.target)
        for node in parsed(path).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "Final"
        if isinstance(node.value, ast.Tuple) and any(is_float(item) for item in node.value.elts)
    ]


def is_float(node: ast.expr) -> bool:
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func) == "float"
    return is_call or (isinstance(node, ast.Constant) and isinstance(node.value, float))


@lru_cache(maxsize=1)
def imported_names(path: str) -> dict[str, str]:
    """Return full names of a module's imports from the package, by local name."""
    imports = [node for node in nodes(path) if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names}


def module_name(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def base_names(path: str, node: ast.ClassDef) -> set[str]:
    """Return full names of a class's bases."""
    imported = imported_names(path)
    written = [ast.unparse(base).partition("[")[0].partition(".") for base in node.bases]
    return {imported[first] + dot + rest for first, dot, rest in written if first in imported}


def may_extend(text: str, class_names: set[str]) -> bool:
    """Report whether a module mentions one of these classes and has a class with bases; spares parsing the others."""
    if re.search(r"^ *class \w+\(", text, re.MULTILINE) is None:
        return False
    return not {name.rpartition(".")[2] for name in class_names}.isdisjoint(re.findall(r"\w+", text))


def test_interpreted_classes_do_not_extend_compiled_ones():
    native = {
        f"{module_name(path)}.{node.name}" for path in COMPILED for node in classes(path) if not bases(node) & ORDINARY
    }
    # Packages re-export classes of their modules.
    native |= {
        f"{module_name(path)}.{name}"
        for path in SOURCES
        if path.endswith("/__init__.py")
        for name, full_name in imported_names(path).items()
        if full_name in native
    }
    compiled = set(COMPILED)
    others = [
        str(path.relative_to(ROOT))
        for folder in ("src", "tests", "benchmarks", "examples")
        for path in (ROOT / folder).rglob("*.py")
        if str(path.relative_to(ROOT)) not in compiled and may_extend(path.read_text(), native)
    ]
    heirs = [f"{path}: {node.name}" for path in others for node in classes(path) if base_names(path, node) & native]
    assert heirs == []
