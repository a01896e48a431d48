"""Macro expansion (``has``, ``all``, ``exists``, ``map``, …)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.cel.ast import (
    Call,
    Comprehension,
    Ident,
    Literal,
    MapNode,
    Node,
    ObjectNode,
    OptionalMap,
    Select,
)
from steersman.cel.source import Issue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Issues = list[Issue]

_SIMPLE: Final = "argument must be a simple name"
_NOT_A_NAME: Final = "argument is not an identifier"
#: Name of cel-go's accumulator variable.
_ACCUMULATORS: Final = ("@result", "__result__")


def expand(call: Call, issues: Issues) -> Node:
    """Expand a macro call; other calls are returned unchanged."""
    if call.target is None:
        return _has(call, issues) if call.function == "has" and len(call.args) == 1 else call
    build = _MACROS.get((call.function, len(call.args)))
    return call if build is None else build(call, call.target, issues)


def _has(call: Call, issues: Issues) -> Node:
    selected = call.args[0]
    if isinstance(selected, Select) and not selected.test:
        return Select(call.position, selected.operand, selected.name, test=True, optional=selected.optional)
    issues.append(Issue(selected.position, "invalid argument to has() macro"))
    return call


def _names(args: Sequence[Node], fault: str, issues: Issues) -> list[str]:
    names: list[str] = []
    for arg in args:
        if not isinstance(arg, Ident) or arg.name.startswith("."):
            issues.append(Issue(arg.position, fault))
            return []
        if arg.name in _ACCUMULATORS:
            issues.append(Issue(arg.position, "iteration variable overwrites accumulator variable"))
            return []
        names.append(arg.name)
    if len(names) == 2 and names[0] == names[1]:
        issues.append(Issue(args[1].position, f"duplicate variable name: {names[0]}"))
        return []
    return names


def _quantifier(macro: str, variables: int) -> Callable[[Call, Node, Issues], Node]:
    def build(call: Call, target: Node, issues: Issues) -> Node:
        names = _names(call.args[:variables], _SIMPLE, issues)
        if not names:
            return call
        return Comprehension(call.position, macro, target, names, condition=call.args[-1])

    return build


def _transform(macro: str, variables: int, *, filtered: bool) -> Callable[[Call, Node, Issues], Node]:
    fault = _NOT_A_NAME if variables == 1 else _SIMPLE

    def build(call: Call, target: Node, issues: Issues) -> Node:
        names = _names(call.args[:variables], fault, issues)
        if not names:
            return call
        condition = call.args[variables] if filtered else None
        return Comprehension(call.position, macro, target, names, condition=condition, step=call.args[-1])

    return build


def _filter(call: Call, target: Node, issues: Issues) -> Node:
    names = _names(call.args[:1], _NOT_A_NAME, issues)
    return Comprehension(call.position, "filter", target, names, condition=call.args[1]) if names else call


def _optional_map(call: Call, target: Node, issues: Issues) -> Node:
    variable = call.args[0]
    if not isinstance(variable, Ident):
        issues.append(Issue(variable.position, f"{call.function}() variable name must be a simple identifier"))
        return call
    return OptionalMap(call.position, target, variable.name, call.args[1], flat=call.function == "optFlatMap")


def _sort_by(call: Call, target: Node, issues: Issues) -> Node:
    if isinstance(target, (Literal, MapNode, ObjectNode)):
        fault = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        issues.append(Issue(target.position, fault))
        return call
    names = _names(call.args[:1], _NOT_A_NAME, issues)
    if not names:
        return call
    keys = Comprehension(call.position, "map", target, names, step=call.args[1])
    return Call(call.position, "@sortByAssociatedKeys", (keys,), target)


#: Keyed by name and number of arguments.
_MACROS: Final[dict[tuple[str, int], Callable[[Call, Node, Issues], Node]]] = {
    ("all", 2): _quantifier("all", 1),
    ("exists", 2): _quantifier("exists", 1),
    ("exists_one", 2): _quantifier("existsOne", 1),
    ("existsOne", 2): _quantifier("existsOne", 1),
    ("map", 2): _transform("map", 1, filtered=False),
    ("map", 3): _transform("map", 1, filtered=True),
    ("filter", 2): _filter,
    ("all", 3): _quantifier("all", 2),
    ("exists", 3): _quantifier("exists", 2),
    ("existsOne", 3): _quantifier("existsOne", 2),
    ("transformList", 3): _transform("transformList", 2, filtered=False),
    ("transformList", 4): _transform("transformList", 2, filtered=True),
    ("transformMap", 3): _transform("transformMap", 2, filtered=False),
    ("transformMap", 4): _transform("transformMap", 2, filtered=True),
    ("transformMapEntry", 3): _transform("transformMapEntry", 2, filtered=False),
    ("transformMapEntry", 4): _transform("transformMapEntry", 2, filtered=True),
    ("sortBy", 2): _sort_by,
    ("optMap", 2): _optional_map,
    ("optFlatMap", 2): _optional_map,
}
