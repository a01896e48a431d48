"""Check docstrings, comments, names, locals and pages against ``tests/architecture/wording.toml``. Part of ``make lint``.

python -m scripts.wording
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1]
RULES = ROOT / "tests" / "architecture" / "wording.toml"
CHECKED = ("src", "tests", "docs", "benchmarks", "codegen", "examples", "scripts", "README.md", "CONTRIBUTING.md")
#: Lines of these pages quote replaced words.
QUOTING = ("CONTRIBUTING.md", "docs/decisions/0013-language.md")
_CODE = re.compile(r"`[^`]*`")


class Rules(NamedTuple):
    """Rules of the check."""

    openings: frozenset[str]
    words: re.Pattern[str]
    names: re.Pattern[str]
    locals: frozenset[str]


class Finding(NamedTuple):
    """Violation of a rule."""

    path: str
    line: int
    kind: str
    text: str


def load_rules(path: Path = RULES) -> Rules:
    """Return the rules of a file."""
    table = tomllib.loads(path.read_text())
    return Rules(
        frozenset(table["openings"]),
        re.compile(rf"\b(?:{'|'.join(table['words'])})\b", re.IGNORECASE),
        re.compile(rf"_*(?:{'|'.join(table['names']['forbidden'])})", re.IGNORECASE),
        frozenset(table["locals"]["forbidden"]),
    )


def check_page(path: str, text: str, rules: Rules) -> Iterator[Finding]:
    """Yield replaced words in a page. Code is not prose: fenced blocks and code spans are left out."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code and (word := rules.words.search(_CODE.sub("", line))):
            yield Finding(path, number, "word", f"{word[0]}: {line.strip()}")


def check_source(path: str, text: str, rules: Rules) -> Iterator[Finding]:
    """Yield openings and replaced words of docstrings, replaced words of comments, replaced names, narrative locals."""
    tree = ast.parse(text)
    yield from _check_locals(path, tree, rules)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _check_docstring(path, node, rules)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and rules.names.fullmatch(node.name):
            yield Finding(path, node.lineno, "name", node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and rules.names.fullmatch(node.id):
            yield Finding(path, node.lineno, "name", node.id)
    lines = iter(text.splitlines(keepends=True))
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type == tokenize.COMMENT and rules.words.search(token.string):
            yield Finding(path, token.start[0], "comment", token.string)


def _check_locals(path: str, tree: ast.Module, rules: Rules) -> Iterator[Finding]:
    """Yield parameters, assigned variables and assigned attributes of forbidden names.

    Fields declared in a class body are exempt: they may be those of an external format.
    """
    fields = {
        target
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        for target in (
            statement.targets
            if isinstance(statement, ast.Assign)
            else [statement.target]
            if isinstance(statement, ast.AnnAssign)
            else []
        )
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            name, line = node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields:
            name, line = node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            name, line = node.attr, node.lineno
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            name, line = node.name, node.lineno
        else:
            continue
        if name.strip("_") in rules.locals:
            yield Finding(path, line, "local", name)


def _check_docstring(
    path: str, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, rules: Rules
) -> Iterator[Finding]:
    docstring = ast.get_docstring(node)
    if not docstring:
        return
    line = 1 if isinstance(node, ast.Module) else node.lineno
    if docstring.split()[0].strip(".,:;`") in rules.openings:
        yield Finding(path, line, "opening", docstring.splitlines()[0])
    elif word := rules.words.search(_CODE.sub("", docstring)):
        yield Finding(path, line, "word", f"{word[0]}: {docstring.splitlines()[0]}")


def findings(root: Path, rules: Rules, checked: Iterable[str] = CHECKED) -> Iterator[Finding]:
    """Yield the findings in all checked files below ``root``."""
    for path in _files(root, checked):
        name = path.relative_to(root).as_posix()
        if name not in QUOTING:
            check = check_page if path.suffix == ".md" else check_source
            yield from check(name, path.read_text(), rules)


def _files(root: Path, checked: Iterable[str]) -> Iterator[Path]:
    for name in checked:
        place = root / name
        if place.is_file():
            yield place
        else:
            yield from sorted(path for suffix in ("py", "md") for path in place.rglob(f"*.{suffix}"))


def main() -> int:
    """Print the findings; return 1 if there are any."""
    results = list(findings(ROOT, load_rules()))
    for path, line, kind, text in results:
        print(f"{path}:{line}: {kind}: {text}")
    print(f"{len(results)} findings", file=sys.stderr)
    return 1 if results else 0


if __name__ == "__main__":
    sys.exit(main())
