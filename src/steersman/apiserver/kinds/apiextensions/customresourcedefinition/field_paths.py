"""Simple JSON paths, for example ``.spec.colour`` or ``.spec['colour']``, resolved through a schema."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.field import Path

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+|'")
_QUOTED_MIN: Final = 2
_ESCAPES: Final = {
    "'": "'",
    '"': '"',
    "\\": "\\",
    "`": "`",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}


class FieldPathError(ValueError):
    """The path does not resolve to a field."""


def follow(path: str, schema: Tree, *, allow_brackets: bool = True) -> tuple[str, str, Tree]:
    """Return the normalized path, its first step and the schema of the field. Raises FieldPathError."""
    tokens = _TOKEN.findall(path)
    plain: Path | None = None
    root = ""
    while tokens:
        sign = tokens.pop(0)
        if sign == "[" and not allow_brackets:
            raise FieldPathError("array notation is not allowed")
        if sign not in ("[", "."):
            raise FieldPathError(f"expected [ or . but got: {sign}")
        name = _next(tokens)
        if sign == "[":
            name = _unquote(name)
        plain, schema = _step(plain, schema, name)
        root = root or name
        if sign == "[" and (closing := _next(tokens)) != "]":
            raise FieldPathError(f"expected ] but got {closing}")
    return str(plain or ""), root, schema


def _next(tokens: list[str]) -> str:
    if not tokens:
        raise FieldPathError("unexpected end of JSON path")
    return tokens.pop(0)


def _unquote(text: str) -> str:
    if len(text) < _QUOTED_MIN or text[0] != "'" or text[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {text}")
    try:
        return re.sub(r"\\(.)", lambda escape: _ESCAPES[escape[1]], text[1:-1])
    except KeyError:
        raise FieldPathError("invalid string literal: invalid syntax") from None


def _step(before: Path | None, schema: Tree, name: str) -> tuple[Path, Tree]:
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    if properties:
        if name not in properties:
            raise FieldPathError("does not refer to a valid field")
        return (before.child(name) if before is not None else Path(name)), properties[name]
    if others is None:
        raise FieldPathError("does not refer to a valid field")
    key = before.key(name) if before is not None else Path("", subscript=name)
    return key, others if isinstance(others, dict) else {}
