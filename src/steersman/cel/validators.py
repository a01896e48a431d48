"""Validation of checked expressions: literals of durations, timestamps and regular expressions, list and map literals
that mix types, and formats of ``format``.

Upstream: ``cel/validator.go`` and ``ext/formatting.go`` of cel-go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.regexp import RegexpError, compile_regexp
from steersman.cel import ast, times
from steersman.cel import types as t
from steersman.cel.library.formatting import Clause, interpolate, type_error
from steersman.cel.source import CompileError, Issue
from steersman.cel.values import EvalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.cel.ast import Node
    from steersman.cel.source import Source
    from steersman.cel.types import Type

#: Functions whose list and map literals may mix types.
_MIXING_FUNCTIONS: Final = frozenset({"format"})
_INTEGERS: Final = ("int", "uint")
_TEXTS: Final = ("string", "bytes")
#: Kinds of types that a clause formats, by its verb.
_FORMATTED_KINDS: Final = {
    "s": (*_INTEGERS, *_TEXTS, "list", "map", "double", "bool", "timestamp", "duration", "type", "null"),
    "d": _INTEGERS,
    "f": ("double", "string"),
    "e": ("double", "string"),
    "b": (*_INTEGERS, "bool"),
    "o": _INTEGERS,
    "x": (*_INTEGERS, *_TEXTS),
    "X": (*_INTEGERS, *_TEXTS),
}


def validate_expression(tree: Node, source: Source) -> None:
    """Reject invalid literals and formats. Raises CompileError."""
    issues = list(_issues(tree))
    if issues:
        raise CompileError(source, issues)


def _issues(tree: Node) -> Iterator[Issue]:
    #: Nodes, and whether their literals may mix types.
    waiting = [(tree, False)]
    while waiting:
        node, may_mix = waiting.pop()
        if isinstance(node, (ast.ListNode, ast.MapNode)):
            if not may_mix:
                yield from _mixed_types(node)
        else:
            may_mix = isinstance(node, ast.Call) and node.function in _MIXING_FUNCTIONS
        waiting.extend((child, may_mix) for child in node.children())
        if isinstance(node, ast.Call) and node.args:
            yield from _call_issues(node)


def _call_issues(node: ast.Call) -> Iterator[Issue]:
    last = node.args[-1]
    if isinstance(last, ast.Literal) and isinstance(last.value, str) and not _is_readable(node, last.value):
        yield Issue(last.position, f"invalid {node.function} argument")
    if node.function == "format" and isinstance(node.target, ast.Literal) and isinstance(last, ast.ListNode):
        issue = _format_issue(node, node.target.value, last.items)
        if issue is not None:
            yield issue


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


def _mixed_types(node: ast.ListNode | ast.MapNode) -> Iterator[Issue]:
    """Yield issues of items that differ in type from the first. Upstream: ``homogeneousAggregateLiteralValidator``."""
    if isinstance(node, ast.ListNode):
        items = [(item, _item_type(item, optional=place in node.optional)) for place, item in enumerate(node.items)]
        yield from list(_mismatches(items))[:1]
        return
    yield from _mismatches([(entry.key, _item_type(entry.key)) for entry in node.entries])
    yield from _mismatches([(e.value, _item_type(e.value, optional=e.optional)) for e in node.entries])


def _mismatches(items: Sequence[tuple[Node, Type]]) -> Iterator[Issue]:
    for item, type_ in items[1:]:
        expected = items[0][1]
        if type_ != expected:
            yield Issue(item.position, f"expected type '{expected.show()}' but found '{type_.show()}'")


def _item_type(item: Node, *, optional: bool = False) -> Type:
    type_ = item.type or t.DYN
    return type_.params[0] if optional and type_.params else type_


class _ArgumentError(EvalError):
    """An argument of a type that its clause does not format."""

    def __init__(self, error: EvalError, argument: Node) -> None:
        super().__init__(str(error))
        self.argument: Final = argument


def _format_issue(call: ast.Call, text: str, arguments: Sequence[Node]) -> Issue | None:
    """Return the issue of a constant format with literal arguments. Upstream: ``stringFormatValidator``."""

    def check(clause: Clause, place: int) -> str:
        wrong = _unformatted(arguments[place], clause.verb)
        if wrong is not None:
            name = wrong.type.name if wrong.type is not None else ""
            raise _ArgumentError(type_error(clause.verb, name), wrong)
        return ""

    try:
        _, used = interpolate(text, len(arguments), check, syntax_first=True)
    except _ArgumentError as mismatch:
        return Issue(mismatch.argument.position, str(mismatch))
    except EvalError as error:
        return Issue(call.position, str(error))
    if used < len(arguments):
        detail = f"too many arguments supplied to string.format (expected {used}, got {len(arguments)})"
        return Issue(call.position, detail)
    return None


def _unformatted(argument: Node, verb: str) -> Node | None:
    """Return the argument, or the item of a literal in it, of a type that the clause does not format."""
    type_ = argument.type or t.DYN
    if not t.is_dyn_or_error(type_) and type_.kind not in _FORMATTED_KINDS[verb]:
        return argument
    if verb != "s" or not isinstance(argument, (ast.ListNode, ast.MapNode)):
        return None
    return next((wrong for item in argument.children() if (wrong := _unformatted(item, verb)) is not None), None)
