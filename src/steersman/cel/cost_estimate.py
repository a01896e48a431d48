"""Static worst-case cost of an expression, from the size bounds of declared types.

Upstream: ``checker.Cost`` in cel-go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.cel import ast
from steersman.cel.checker import qualified_name
from steersman.cel.values import UINT_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.cel.ast import Node
    from steersman.cel.types import Type

UNBOUNDED: Final = UINT_MAX
_SCALARS: Final = ("bool", "double", "duration", "int", "timestamp", "uint")
_LIST_COST: Final = 10
_MAP_COST: Final = 30
_OBJECT_COST: Final = 40
_CHECK_COST: Final = 350_000
#: Kinds of values whose type is known at run time only.
_UNKNOWN: Final = ("dyn", "param")
#: Kinds of values that ``+`` concatenates, or might concatenate.
_ADDED_KINDS: Final = ("string", "bytes", "list", *_UNKNOWN)
#: Member functions that traverse their target once.
_WALKS: Final = frozenset(["lowerAscii", "upperAscii", "substring", "trim"])
_FOLDS: Final = frozenset(["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"])
_COMPARISONS: Final = frozenset(["_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"])
#: Number of comparisons of each pair of items.
_SETS: Final = {"sets.contains": 1, "sets.intersects": 1, "sets.equivalent": 2}
_LISTS: Final = frozenset(["slice", "lists.range", "reverse", "flatten", "distinct", "sort", "@sortByAssociatedKeys"])
#: Costs of comparing addresses of 16 bytes.
_NETWORK_COSTS: Final = {"containsIP": 4, "containsCIDR": 7}
#: Cost of the longest pattern of a named format, and the length of the longest name.
_FORMAT_COST: Final = 32
_FORMAT_NAME_MAX: Final = 64
#: Types whose values are compared at once by ``==``, but not by ``!=``.
_COMPARED_AT_ONCE: Final = frozenset(
    [
        "net.IP",
        "net.CIDR",
        "kubernetes.Quantity",
        "kubernetes.Semver",
        "kubernetes.authorization.Authorizer",
        "kubernetes.authorization.PathCheck",
        "kubernetes.authorization.GroupCheck",
        "kubernetes.authorization.ResourceCheck",
        "kubernetes.authorization.Decision",
    ]
)


class _Estimate(NamedTuple):
    """Maximum cost and size."""

    cost: int
    #: None: unknown size.
    size: int | None = None
    #: Size of items or values of a computed list or map.
    items: int | None = None


def _bound(value: int) -> int:
    return min(value, UNBOUNDED)


def _share(size: int, divisor: int) -> int:
    """Return ``size`` divided by ``divisor``, rounded up."""
    return UNBOUNDED if size >= UNBOUNDED else -(-size // divisor)


def estimate_cost(tree: Node) -> int:
    """Return the maximum cost of an evaluation, or ``UNBOUNDED``."""
    return _Estimator().estimate(tree).cost


class _Estimator:
    def __init__(self) -> None:
        self._locals: dict[str, int | None] = {}

    def estimate(self, node: Node) -> _Estimate:
        """Return the estimate of a node including its children."""
        estimate = _HANDLERS[type(node)](self, node)
        size = estimate.size
        if size is None and node.type is not None:
            size = _type_size(node.type)
        return _Estimate(_bound(estimate.cost), size, estimate.items)

    def _literal(self, node: ast.Literal) -> _Estimate:
        return _Estimate(0, len(node.value) if isinstance(node.value, (str, bytes)) else 1)

    def _ident(self, node: ast.Ident) -> _Estimate:
        return _Estimate(1, self._locals.get(node.name))

    def _select(self, node: ast.Select) -> _Estimate:
        if node.qualified:
            return _Estimate(1)
        below = self.estimate(node.operand)
        if node.test:
            return _Estimate(below.cost, 1)
        kind = node.operand.type.kind if node.operand.type is not None else ""
        cost = below.cost + (kind in ("map", "object", "param") or node.optional)
        return _Estimate(cost, _entry_size(node.type) if kind == "map" else None)

    def _list(self, node: ast.ListNode) -> _Estimate:
        estimates = [self.estimate(item) for item in node.items]
        return _Estimate(
            _LIST_COST + sum(e.cost for e in estimates), len(estimates), max(map(_size, estimates), default=0)
        )

    def _map(self, node: ast.MapNode) -> _Estimate:
        keys = [self.estimate(entry.key) for entry in node.entries]
        values = [self.estimate(entry.value) for entry in node.entries]
        cost = _MAP_COST + sum(e.cost for e in (*keys, *values))
        return _Estimate(cost, len(values), max(map(_size, values), default=0))

    def _object(self, node: ast.ObjectNode) -> _Estimate:
        return _Estimate(_OBJECT_COST + sum(self.estimate(entry.value).cost for entry in node.entries))

    def _comprehension(self, node: ast.Comprehension) -> _Estimate:
        range_ = self.estimate(node.range)
        before = {name: self._locals.get(name) for name in node.variables}
        for name in node.variables:
            self._locals[name] = range_.items
        condition = self.estimate(node.condition).cost if node.condition is not None else 0
        step = self.estimate(node.step) if node.step is not None else _Estimate(0)
        self._locals |= before
        quantifier = node.macro in ("all", "exists")
        if quantifier:
            step_cost, fixed = 3 + condition, 1
        elif node.macro == "existsOne":
            step_cost, fixed = 3 + condition, 3
        else:
            step_cost, fixed = condition + step.cost + _LIST_COST + 2, _LIST_COST + 1
        count = _size(range_)
        cost = range_.cost + fixed + _bound(count * step_cost)
        is_test = quantifier or node.macro == "existsOne"
        return _Estimate(cost, 1, None) if is_test else _Estimate(cost, count, step.size or range_.items)

    def _optional_map(self, node: ast.OptionalMap) -> _Estimate:
        target = self.estimate(node.target)
        step = self.estimate(node.step)
        return _Estimate(target.cost + step.cost + 4, step.size)

    def _call(self, node: ast.Call) -> _Estimate:
        name, target = node.function, node.target
        if target is not None and target.type is None:  # the checker has read it as a part of the function's name
            name, target = f"{qualified_name(target)}.{name}", None
        if name == "cel.bind":
            value, body = map(self.estimate, node.args[1:])
            return _Estimate(_LIST_COST + value.cost + body.cost, body.size, body.items)
        operands = [*([target] if target is not None else ()), *node.args]
        estimates = [self.estimate(operand) for operand in operands]
        operand_cost = sum(e.cost for e in estimates)
        if name in ("_&&_", "_||_"):
            return _Estimate(operand_cost, 1)
        if name == "_?_:_":
            branch = max(estimates[1].cost, estimates[2].cost)
            return _Estimate(
                estimates[0].cost + branch, max(_size(estimates[1]), _size(estimates[2])), estimates[1].items
            )
        if name in ("_[_]", "_[?_]"):
            return _Estimate(operand_cost + 1, estimates[0].items)
        if name == "@sortByAssociatedKeys":  # the list is evaluated once and bound to a variable
            operand_cost += _LIST_COST + 2 - estimates[0].cost
        own, size = _call_cost(name, operands, estimates, is_member=target is not None)
        return _Estimate(operand_cost + own, size)


#: Methods by type of node; bound methods in an attribute would be a reference cycle.
_HANDLERS: Final[dict[type, Callable[..., _Estimate]]] = {
    ast.Literal: _Estimator._literal,
    ast.Ident: _Estimator._ident,
    ast.Select: _Estimator._select,
    ast.Call: _Estimator._call,
    ast.ListNode: _Estimator._list,
    ast.MapNode: _Estimator._map,
    ast.ObjectNode: _Estimator._object,
    ast.Comprehension: _Estimator._comprehension,
    ast.OptionalMap: _Estimator._optional_map,
}


def _call_cost(
    name: str, operands: Sequence[Node], estimates: Sequence[_Estimate], *, is_member: bool
) -> tuple[int, int | None]:
    """Return the cost of a call without its operands, and the size of the result.

    Functions that are missing here cost 1, and the size of their results is unknown. Upstream: ``functionCost`` in
    cel-go, ``EstimateCallCost`` in ``apiserver/pkg/cel/library/cost.go`` and the estimators of ``ext/lists.go``.
    """
    if not estimates:
        return 1, None
    first = _size(estimates[0])
    second = _size(estimates[1]) if len(estimates) > 1 else 0
    kind = operands[0].type.kind if operands[0].type is not None else ""
    if name == "check":
        return _CHECK_COST, None
    if name == "type":
        return 1, 1
    if name in _COMPARISONS:
        return _comparison_cost(name, operands, estimates), 1
    if name == "_+_" and kind in _ADDED_KINDS:
        whole = _bound(first + second)
        return (1 if kind == "list" else _share(whole, 10)), whole
    if name == "@in":
        in_list = operands[1].type is not None and operands[1].type.kind != "map"
        return (second if in_list else 1), 1
    if name in ("string", "bytes"):
        return _conversion_cost(name, kind, first)
    if name in _SETS:
        return _bound(first * second * _SETS[name] + 1), 1
    if name in _LISTS:
        return _list_cost(name, operands, estimates)
    if name in ("url", "jsonpatch.escapeKey"):
        return _share(first, 10), first
    if name == "strings.quote":
        return _share(first, 10), _bound(first * 2 + 2)
    return _member_cost(name, operands, estimates) if is_member else (1, None)


def _member_cost(name: str, operands: Sequence[Node], estimates: Sequence[_Estimate]) -> tuple[int, int | None]:
    """Return the cost of a member call and the size of its result. Global functions of these names cost 1."""
    first = _size(estimates[0])
    second = _size(estimates[1]) if len(estimates) > 1 else 0
    match name:
        case "matches" | "find" | "findAll":
            size = None if name == "matches" else first
            return _bound(_share(_bound(first + 1), 10) * _share(second, 4)), size
        case "contains":
            return _bound(_share(first, 10) * _share(second, 10)), 1
        case "startsWith" | "endsWith":
            return _share(second, 10), 1
        case "format":
            return _share(first, 10), None
        case "join":
            return _join_cost(operands[0], estimates)
        case "replace":
            return _share(_bound(first * 2), 10), _replaced_size(operands, estimates)
        case "split":
            return _share(_bound(first * 2), 10), _literal(operands, 2, first)
        case "containsIP" | "containsCIDR":
            is_text = operands[1].type is not None and operands[1].type.kind == "string"
            return _bound(_NETWORK_COSTS[name] + (_share(second, 10) if is_text else 0)), 1
        case "validate":
            return _bound(_share(second, 10) * _FORMAT_COST), None
    if name in _FOLDS:
        kind = operands[0].type.kind if operands[0].type is not None else ""
        return _fold_cost(kind, operands[0], estimates[0]), None
    return (_share(first, 10), first) if name in _WALKS else (1, None)


def _comparison_cost(name: str, operands: Sequence[Node], estimates: Sequence[_Estimate]) -> int:
    left, right = operands[0].type, operands[1].type
    if name == "_==_" and left is not None and left == right:
        if left.name in _COMPARED_AT_ONCE:
            return 1
        if left.name == "kubernetes.NamedFormat":
            return _share(_FORMAT_NAME_MAX, 10)
        if left.name == "kubernetes.URL":
            sizes = [estimate.size for estimate in estimates if estimate.size is not None]
            return _share(max(sizes), 10) if len(sizes) == 2 else 1
    return _share(min(map(_size, estimates)), 10)


def _conversion_cost(name: str, kind: str, size: int) -> tuple[int, int | None]:
    """Return the cost of a conversion of a text, and the size of its result; other values have no known text."""
    converted = "bytes" if name == "string" else "string"
    if kind != converted and kind not in _UNKNOWN:
        return 1, None
    return _share(size, 10), None if kind in _UNKNOWN else size if name == "string" else _bound(size * 4)


def _list_cost(name: str, operands: Sequence[Node], estimates: Sequence[_Estimate]) -> tuple[int, int]:
    """Return the cost of a function of cel-go's list extension, which makes a list, and the size of that list."""
    size, tenths = _size(estimates[0]), 10
    match name:
        case "slice":
            size = max(_literal(operands, 2, size) - _literal(operands, 1, 0), 0)
        case "lists.range":
            size = _literal(operands, 0, UNBOUNDED)
        case "flatten":
            tenths = 10 * _literal(operands, 1, UNBOUNDED) if len(operands) > 1 else 10
        case "distinct":
            size, tenths = _bound(size * size), 20
        case "sort" | "@sortByAssociatedKeys":
            keys = operands[-1].type
            is_text = keys is not None and bool(keys.params) and keys.params[0].kind in ("string", "bytes")
            size = _bound(_size(estimates[-1]) ** 2)
            tenths = 21 if is_text else 20
    cost = UNBOUNDED if size >= UNBOUNDED else -(-size * tenths // 10)
    return _bound(cost + _LIST_COST + 1), size


def _literal(operands: Sequence[Node], place: int, otherwise: int) -> int:
    """Return the value of an integer literal among the operands."""
    operand = operands[place] if place < len(operands) else None
    value = operand.value if isinstance(operand, ast.Literal) else None
    return max(value, 0) if type(value) is int else otherwise


def _replaced_size(operands: Sequence[Node], estimates: Sequence[_Estimate]) -> int:
    """Return the size of a text after its replacements; the least size of a replaced part is known of literals only."""
    size, replacement = _size(estimates[0]), _size(estimates[2])
    replaced = operands[1]
    least = len(replaced.value) if isinstance(replaced, ast.Literal) and isinstance(replaced.value, str) else 0
    if not least:
        return _bound(_bound((size + 1) * replacement) + size)
    return size if replacement <= least else _bound(_share(size, least) * replacement)


def _join_cost(operand: Node, estimates: Sequence[_Estimate]) -> tuple[int, int]:
    items, count = _item_size(operand, estimates[0]), _size(estimates[0])
    separators = _bound(_size(estimates[1]) * max(count - 1, 0)) if len(estimates) > 1 else 0
    joined = _bound(_bound(count * items) + separators)
    return _share(joined, 10), joined


def _item_size(operand: Node, estimate: _Estimate) -> int:
    """Return the size of list items."""
    size = estimate.items
    if size is None and operand.type is not None and operand.type.params:
        size = _type_size(operand.type.params[0])
    return UNBOUNDED if size is None else size


def _fold_cost(kind: str, operand: Node, estimates: _Estimate) -> int:
    if kind != "list":
        return _share(_size(estimates), 10)
    step_cost = 1
    type_ = operand.type
    if type_ is not None and type_.params[0].kind in ("string", "bytes"):
        step_cost += _share(_item_size(operand, estimates), 10)
    return _bound(_size(estimates) * step_cost)


def _size(estimate: _Estimate) -> int:
    return UNBOUNDED if estimate.size is None else estimate.size


def _entry_size(type_: Type | None) -> int:
    """Return the size of a selected map value; as upstream, known for scalars and device attributes only."""
    if type_ is not None and type_.kind in _SCALARS:
        return 1
    if type_ is not None and type_.kind == "any" and type_.max_size is not None:
        return type_.max_size
    return UNBOUNDED


def _type_size(type_: Type) -> int | None:
    """Return the size bound of a type, 1 for types without a size."""
    if type_.max_size is None and (type_.kind in _SCALARS or type_.kind == "type"):
        return 1
    return type_.max_size
