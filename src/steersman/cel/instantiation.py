"""Errors of program instantiation: cel-go converts constants and compiles constant patterns of ``find`` ahead of evaluation.

Upstream: ``interpreter/decorators.go`` of cel-go and ``apiserver/pkg/cel/library/regex.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.regexp import RegexpError, compile_regexp
from steersman.cel import ast
from steersman.cel.evaluator import Evaluator

if TYPE_CHECKING:
    from steersman.cel.ast import Node
    from steersman.cel.environment import Environment

#: Upstream: ``overloads.IsTypeConversionFunction``.
_CONVERSIONS: Final = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
_SEARCHES: Final = frozenset(("find", "findAll"))
#: Cost limit of the conversion of a constant.
_COST_LIMIT: Final = 1_000_000


def instantiation_error(tree: Node, environment: Environment) -> str:
    """Return the first error of a constant conversion or pattern; empty if there is none."""
    return _first_error(tree, environment)[1]


def _first_error(node: Node, environment: Environment) -> tuple[bool, str]:
    """Return whether the node is a constant, and the first error at or below it."""
    are_constant: list[bool] = []
    for child in node.children():
        is_constant, error = _first_error(child, environment)
        if error:
            return False, error
        are_constant.append(is_constant)
    match node:
        case ast.Literal():
            return True, ""
        case ast.ListNode():
            return all(are_constant) and not node.optional, ""
        case ast.MapNode():
            return all(are_constant) and not any(entry.optional for entry in node.entries), ""
        case ast.Call():
            return _call_error(node, environment, is_constant=all(are_constant))
    return False, ""


def _call_error(node: ast.Call, environment: Environment, *, is_constant: bool) -> tuple[bool, str]:
    if node.function in _SEARCHES:
        pattern = _text(node.args[0]) if node.args else None
        return False, _pattern_error(pattern) if pattern is not None else ""
    if node.function not in _CONVERSIONS or node.target is not None or len(node.args) != 1 or not is_constant:
        return False, ""
    error = Evaluator(node, environment).evaluate({}, cost_limit=_COST_LIMIT).error
    return error is None, "" if error is None else str(error)


def _text(node: Node) -> str | None:
    return node.value if isinstance(node, ast.Literal) and isinstance(node.value, str) else None


def _pattern_error(pattern: str) -> str:
    try:
        compile_regexp(pattern)
    except RegexpError as error:
        return str(error)
    return ""
