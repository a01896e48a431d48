"""Find comparisons in compiled modules that the compiler turns into identity checks. Part of ``make lint``.

    python -m scripts.struct_comparisons

Compiled, ``==``, ``!=`` and ``in`` compare two values of a class without an ``__eq__`` in its source by identity; interpreted,
Structs are compared by value (decision 0006). Compare their fields, or use ``is``.
"""

from __future__ import annotations

import ast
import io
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from mypy.build import build
from mypy.config_parser import parse_config_file
from mypy.modulefinder import BuildSource
from mypy.nodes import ComparisonExpr
from mypy.options import Options
from mypy.types import Instance, TupleType, UnionType, get_proper_type
from pathspec import GitIgnoreSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mypy.nodes import Expression, TypeInfo
    from mypy.types import Type

ROOT = Path(__file__).parents[1]
_OPERATORS = frozenset(("==", "!=", "in", "not in"))


def compiled_modules() -> dict[str, Path]:
    """Return the compiled modules of wheels by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]
    paths = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "src").rglob("*.py"))]
    excluded = set(GitIgnoreSpec.from_lines(hook["exclude"]).match_files(paths))
    compiled = [path for path in GitIgnoreSpec.from_lines(hook["include"]).match_files(paths) if path not in excluded]
    return {module_name(path): ROOT / path for path in compiled}


def module_name(path: str) -> str:
    """Return the name of the module in a source file."""
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def findings(modules: Mapping[str, Path]) -> Iterator[str]:
    """Yield the place and the class of each comparison that is an identity check when these modules are compiled."""
    options = Options()
    parse_config_file(options, lambda: None, str(ROOT / "pyproject.toml"), io.StringIO(), io.StringIO())
    options.incremental = False  # modules from the cache would have no types
    options.export_types = options.preserve_asts = True
    result = build([BuildSource(str(path), module) for module, path in modules.items()], options)
    for node in result.types:
        if isinstance(node, ComparisonExpr):
            for operator, left, right in zip(node.operators, node.operands, node.operands[1:], strict=False):
                if operator in _OPERATORS and (names := _identities(left, right, result.types, modules)):
                    for path in _places(node, modules):
                        yield f"{path}:{node.line}: `{operator}` compares {', '.join(names)} by identity when compiled"


def _places(node: ComparisonExpr, modules: Mapping[str, Path]) -> Iterator[Path]:
    """Yield the files with a comparison where the node is; a node does not name its file."""
    span = (node.line, node.column, node.end_line, node.end_column)
    for path in modules.values():
        comparisons = [item for item in ast.walk(ast.parse(path.read_bytes())) if isinstance(item, ast.Compare)]
        if any(span == (item.lineno, item.col_offset, item.end_lineno, item.end_col_offset) for item in comparisons):
            yield path


def _identities(
    left: Expression, right: Expression, types: Mapping[Expression, Type], modules: Mapping[str, Path]
) -> set[str]:
    """Return the classes of both operands, or of the items of tuples, that the compiler compares by identity."""
    sides = [set(_classes(types[side])) if side in types else set() for side in (left, right)]
    return {info.fullname for info in sides[0] & sides[1] if info.module_name in modules and not _has_equality(info)}


def _classes(type_: Type) -> Iterator[TypeInfo]:
    proper = get_proper_type(type_)
    if isinstance(proper, TupleType | UnionType):
        for item in proper.items:
            yield from _classes(item)
    elif isinstance(proper, Instance):
        yield proper.type


def _has_equality(info: TypeInfo) -> bool:
    """Report whether values of a class are compared as its source reads: by ``__eq__``, or always by identity."""
    if info.is_enum or info.is_named_tuple or info.is_protocol:
        return True
    if any("__eq__" in base.names for base in info.mro if base.fullname != "builtins.object"):
        return True
    return not any(base.fullname == "msgspec.Struct" for base in info.mro) and not _is_dataclass(info)


def _is_dataclass(info: TypeInfo) -> bool:
    return any("dataclass" in base.metadata for base in info.mro)


def main() -> int:
    texts = list(findings(compiled_modules()))
    print("".join(f"{text}\n" for text in texts) + f"{len(texts)} comparisons of structs in compiled modules")
    return 1 if texts else 0


if __name__ == "__main__":
    sys.exit(main())
