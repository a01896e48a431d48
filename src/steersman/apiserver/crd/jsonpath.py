"""Subset of kubectl's JSONPath for printer columns and selectable fields: names, indexes, ``*``, simple filters.

``.spec.replicas``, ``.metadata.labels['a.b/c']``, ``.status.conditions[?(@.type=="Ready")].status``,
``.items[*].name``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.text_cache import text_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Step = Callable[[Any], Iterator[Any]]

_TOKEN: Final = re.compile(
    r"""
    \.(?P<name>(?:[^.\[\]\\]|\\.)+)
    | \[\s*(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\s*\]
    | \[(?P<index>-?\d+)\]
    | \[(?P<star>\*)\]
    | \[\?\(\s*@\.(?P<field>[\w.-]+)\s*==\s*(?P<value>"[^"]*"|'[^']*'|[\w.-]+)\s*\)\]
    """,
    re.VERBOSE,
)


class JSONPathError(ValueError):
    """Malformed or unsupported path."""


@text_cache(1024, length_max=1024)
def compile_path(path: str) -> tuple[Step, ...]:
    """Return the steps of a path. Raises JSONPathError."""
    steps: list[Step] = []
    at = 0
    text = path if path.startswith((".", "[")) else f".{path}"
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise JSONPathError(f"unsupported JSONPath {path!r}")
        steps.append(_step(match))
        at = match.end()
    return tuple(steps)


def find(path: str, tree: Any) -> list[Any]:
    """Return all values at the path. Raises JSONPathError."""
    values = [tree]
    for step in compile_path(path):
        values = [found for value in values for found in step(value)]
    return values


def _step(match: re.Match[str]) -> Step:
    if match["star"]:
        return _every
    if match["index"]:
        return _at(int(match["index"]))
    if match["field"]:
        return _where(match["field"].split("."), match["value"].strip("\"'"))
    name = match["quoted"] if match["quoted"] is not None else re.sub(r"\\(.)", r"\1", match["name"])
    return _every if name == "*" else _member(name)


def _member(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _at(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _every(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _where(field: list[str], wanted: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            found = item
            for name in field:
                found = found.get(name) if isinstance(found, dict) else None
            if found is not None and _text(found) == wanted:
                yield item

    return step


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
