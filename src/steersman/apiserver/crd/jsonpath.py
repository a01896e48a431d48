r"""JSONPath of printer columns and selectable fields. Upstream: ``k8s.io/client-go/util/jsonpath``, with missing keys allowed.

``.spec.replicas``, ``.metadata.labels.a\.b/c``, ``.status.conditions[?(@.type=="Ready")].status``, ``.items[-1:].name``, ``..name``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.text_cache import text_cache
from steersman.apiserver.crd.jsonpath_parser import (
    Field,
    Filter,
    Identifier,
    JSONPathError,
    Literal,
    Recursive,
    Slice,
    Union,
    Wildcard,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.crd.jsonpath_parser import Node, Path

__all__ = ["JSONPathError", "compile_path", "find", "is_valid"]


@text_cache(1024, length_max=1024)
def compile_path(path: str) -> Path:
    """Return the nodes of a path. Raises JSONPathError."""
    return parse(path)


def is_valid(path: str) -> bool:
    """Report whether the path can be parsed."""
    try:
        compile_path(path)
    except JSONPathError:
        return False
    return True


def find(path: str, tree: Any) -> list[Any]:
    """Return all values at the path. Raises JSONPathError."""
    return _walk(compile_path(path), [tree])


def _walk(path: Path, values: list[Any]) -> list[Any]:
    for node in path:
        values = _evaluate(node, values)
    return values


def _evaluate(node: Node, values: list[Any]) -> list[Any]:
    match node:
        case Field(name):
            return [value[name] for value in values if isinstance(value, dict) and name in value]
        case Slice():
            return [item for value in values if value is not None for item in _items(node, value)]
        case Filter():
            return [item for value in values for item in _filtered(node, value)]
        case Wildcard():
            return [child for value in values for child in _children(value)]
        case Recursive():
            return _descend(values)
        case Union(paths):
            return [result for path in paths for result in _walk(path, values)]
        case Literal(value):
            return [value] if isinstance(value, str) else [value] * len(values)
        case Identifier(name):
            raise JSONPathError(f"unrecognized identifier {name}")


def _items(subscript: Slice, value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise JSONPathError("value is not array or slice")
    length = len(value)
    start = subscript.start or 0
    if subscript.is_index:
        end = start + 1
        if start < 0:
            end += length
    else:
        end = length if subscript.end is None else subscript.end
        if end < 0:
            end += length
    if start < 0:
        start += length
    if start == end:
        return ()
    if not 0 <= start < length or not 0 <= end <= length:
        raise JSONPathError(f"array index out of bounds: index {start}, length {length}")
    if start > end:
        raise JSONPathError(f"starting index {start} is greater than ending index {end}")
    if subscript.step is not None and subscript.step <= 0:
        raise JSONPathError("step must be > 0")
    return value[start : end : subscript.step or 1]


def _children(value: Any) -> list[Any]:
    """Return the values of an object, the items of a list, or the bytes of a string."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]  # in no order upstream
    if isinstance(value, list):
        return value
    return list(value.encode()) if isinstance(value, str) else []


def _descend(values: list[Any]) -> list[Any]:
    """Return the values that have children, each followed by those below it."""
    descendants: list[Any] = []
    pending = values[::-1]
    while pending:
        value = pending.pop()
        children = _children(value)
        if children:
            descendants.append(value)
            pending += reversed(children)
    return descendants


def _filtered(node: Filter, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise JSONPathError("value is not array or slice and cannot be filtered")
    return [item for item in value if _holds(node, item)]


def _holds(node: Filter, item: Any) -> bool:
    if not node.operator:
        try:
            return bool(_walk(node.left, [item]))
        except JSONPathError:
            return True  # upstream's evaluation returns its input with the error
    left = _single(_walk(node.left, [item]))
    right = _single(_walk(node.right, [item])) if left else ()
    return bool(right) and _compare(left[0], node.operator, right[0])


def _single(values: Sequence[Any]) -> Sequence[Any]:
    if len(values) > 1:
        raise JSONPathError("can only compare one element at a time")
    return values


def _compare(left: Any, operator: str, right: Any) -> bool:
    kind = type(left)
    if kind not in (bool, int, float, str):
        raise JSONPathError("invalid type for comparison")
    if type(right) is not kind:
        raise JSONPathError("incompatible types for comparison")
    if operator in ("==", "!="):
        return bool(left == right) is (operator == "==")
    if kind is bool:
        raise JSONPathError("invalid type for comparison")
    match operator:
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case ">=":
            return bool(left >= right)
    raise JSONPathError(f"unrecognized filter operator {operator}")
