"""Validation of duration, timestamp and regex literals after type checking (``ASTValidators``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.regexp import RegexpError, compile_regexp
from steersman.cel import ast, times
from steersman.cel.source import CompileError, Issue
from steersman.cel.values import EvalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.cel.ast import Node
    from steersman.cel.source import Source


def validate_literals(tree: Node, source: Source) -> None:
    """Reject invalid literals. Raises CompileError."""
    issues = list(_issues(tree))
    if issues:
        raise CompileError(source, issues)


def _issues(tree: Node) -> Iterator[Issue]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        waiting.extend(node.children())
        if isinstance(node, ast.Call) and node.args:
            last = node.args[-1]
            if isinstance(last, ast.Literal) and isinstance(last.value, str) and not _is_readable(node, last.value):
                yield Issue(last.position, f"invalid {node.function} argument")


def _is_readable(node: ast.Call, text: str) -> bool:
    try:
        match node.function:
            case "duration" if node.target is None:
                times.parse_duration(text)
            case "timestamp" if node.target is None:
                times.parse_timestamp(text)
            case "matches" if node.target is not None or len(node.args) == 2:
                compile_regexp(text)
    except (EvalError, RegexpError):
        return False
    return True
