"""Static worst-case cost of an expression, from the size bounds of declared types.

Upstream: ``checker.Cost`` in cel-go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.cel import ast
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
#: Functions that traverse their first operand once, or twice.
_WALKS: Final = frozenset(
    [
        "url",
        "isURL",
        "lowerAscii",
        "upperAscii",
        "substring",
        "trim",
        "quantity",
        "isQuantity",
        "cidr",
        "isIP",
        "isCIDR",
    ]
)
_WALKS_TWICE: Final = frozenset(("replace", "split", "ip.isCanonical"))
_FOLDS: Final = frozenset(["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"])
_COMPARISONS: Final = frozenset(["_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"])


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
        operands = [*([node.target] if node.target is not None else ()), *node.args]
        estimates = [self.estimate(operand) for operand in operands]
        operand_cost = sum(e.cost for e in estimates)
        name = node.function
        if name in ("_&&_", "_||_"):
            return _Estimate(operand_cost, 1)
        if name == "_?_:_":
            branch = max(estimates[1].cost, estimates[2].cost)
            return _Estimate(
                estimates[0].cost + branch, max(_size(estimates[1]), _size(estimates[2])), estimates[1].items
            )
        if name in ("_[_]", "_[?_]"):
            return _Estimate(operand_cost + 1, estimates[0].items)
        own, size = _call_cost(name, operands, estimates)
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


def _call_cost(name: str, operands: Sequence[Node], estimates: Sequence[_Estimate]) -> tuple[int, int | None]:
    """Return the cost of a call without its operands, and the size of the result."""
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
        return _share(min(first, second), 10), 1
    if name == "_+_" and kind in ("string", "bytes", "list", "dyn", "param"):
        whole = _bound(first + second)
        return (1 if kind == "list" else _share(whole, 10)), whole
    if name in ("matches", "find", "findAll"):
        return _bound(_share(_bound(first + 1), 10) * _share(second, 4)), first
    if name == "contains":
        return _bound(_share(first, 10) * _share(second, 10)), 1
    if name in ("startsWith", "endsWith"):
        return _share(second, 10), 1
    if name == "@in":
        in_list = operands[1].type is not None and operands[1].type.kind != "map"
        return (second if in_list else 1), 1
    if name in _FOLDS:
        return _fold_cost(kind, operands[0], estimates[0]), 1
    if name == "join":
        return _join_cost(operands[0], estimates)
    return _walk_cost(name, first, estimates)


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


def _walk_cost(name: str, first: int, estimates: Sequence[_Estimate]) -> tuple[int, int | None]:
    if name in _WALKS:
        return _share(first, 10), first
    if name in _WALKS_TWICE:
        added = _bound(first * _size(estimates[2])) if name == "replace" and len(estimates) > 2 else 0
        return _share(_bound(first * 2), 10), _bound(first + added)
    if name in ("string", "bytes", "format"):
        return _share(first, 10), _bound(first * 4)
    if name.startswith("sets."):
        return _bound(first * _size(estimates[1]) * (2 if name == "sets.equivalent" else 1) + 1), 1
    return 1, None


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
