"""Evaluator: compiles checked trees to nested closures.

Every step adds its cost by cel-go's rules. Loops and functions whose work grows with their arguments check the limit
during the work, so that an evaluation is interrupted early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.workmeter import spend
from steersman.cel import ast
from steersman.cel import values as v
from steersman.cel.arithmetic import index as index_value
from steersman.cel.arithmetic import no_overload, optional_index
from steersman.cel.loops import loop
from steersman.cel.subtypes import ObjectValue
from steersman.cel.values import CostError, EvalError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.cel.ast import Node
    from steersman.cel.environment import Environment
    from steersman.cel.functions import Function, Overload
    from steersman.cel.loops import Step

_LIST_COST: Final = 10
_MAP_COST: Final = 30
_OBJECT_COST: Final = 40
#: Cost between two charges of the work meter. Upstream checks for interruption every 100 iterations.
_METER_INTERVAL: Final = 1_000
#: Marks an unset variable.
_UNSET: Final = object()


class State:
    """State of one evaluation: variable slots and accumulated cost."""

    __slots__ = ("_limit", "_metered", "_next", "cost", "slots")

    def __init__(self, slots: list[Any], limit: int) -> None:
        self.slots: Final = slots
        self.cost = 0
        self._limit: Final = limit
        #: Cost charged to the work meter so far, and the cost of the next charge.
        self._metered = 0
        self._next = min(limit, _METER_INTERVAL)

    def charge(self, cost: int) -> None:
        """Add cost. Raises CostError, and errors of the work meter."""
        self.cost += cost
        if self.cost > self._next:
            self.charge_pending()
            self._next = min(self._limit, self.cost + _METER_INTERVAL)

    def charge_pending(self) -> None:
        """Charge the remaining cost to the work meter. Raises as ``charge``."""
        if self.cost > self._limit:
            raise CostError
        spend(self.cost - self._metered)
        self._metered = self.cost


class Evaluated:
    """Result of an evaluation: a value or an error, and its cost."""

    __slots__ = ("cost", "error", "value")

    def __init__(self, value: Any, error: EvalError | None, cost: int) -> None:
        self.value: Final = value
        self.error: Final = error
        self.cost: Final = cost


class Evaluator:
    """Compiled form of one expression."""

    def __init__(self, tree: Node, environment: Environment) -> None:
        self._environment: Final = environment
        self._globals: Final[dict[str, int]] = {}
        self._scopes: list[dict[str, int]] = []
        self._count = 0
        self._root: Final = self._compile(tree)

    @property
    def names(self) -> frozenset[str]:
        """Return the variables that the expression uses."""
        return frozenset(self._globals)

    def evaluate(self, variables: Mapping[str, Any], *, cost_limit: int) -> Evaluated:
        """Evaluate the expression; errors are returned in the result. Raises only errors of the work meter."""
        slots = [_UNSET] * self._count
        for name, slot in self._globals.items():
            slots[slot] = variables.get(name, _UNSET)
        state = State(slots, cost_limit)
        try:
            value = self._root(state)
            state.charge_pending()
        except EvalError as error:
            return Evaluated(None, error, state.cost)
        except RecursionError:
            return Evaluated(None, EvalError("expression is nested too deeply"), state.cost)
        return Evaluated(value, None, state.cost)

    def _compile(self, node: Node) -> Step:
        return _HANDLERS[type(node)](self, node)

    def _slot(self) -> int:
        self._count += 1
        return self._count - 1

    def _literal(self, node: ast.Literal) -> Step:
        value = node.value
        return lambda _: value

    def _ident(self, node: ast.Ident) -> Step:
        if not node.name.startswith("."):
            for scope in reversed(self._scopes):
                if node.name in scope:
                    return _local(scope[node.name])
        return self._global(node.name.removeprefix("."))

    def _global(self, name: str) -> Step:
        if name not in self._environment.variables:
            type_ = self._environment.type_named(name)
            type_value = v.TypeValue(type_.name if type_ is not None else name)
            return lambda _: type_value
        slot = self._globals.get(name)
        if slot is None:
            slot = self._globals[name] = self._slot()
        return _variable(slot, name)

    def _select(self, node: ast.Select) -> Step:
        if node.qualified:
            return self._global(node.qualified)
        operand = self._compile(node.operand)
        if node.test:
            return _presence(operand, node.field)
        if node.optional:
            return _optional_select(operand, node.field)
        return _selection(operand, node.field)

    def _call(self, node: ast.Call) -> Step:
        build = _SPECIAL.get(node.function) if node.target is None else None
        if build is not None:
            return build(*map(self._compile, node.args))
        if not node.overloads and node.function == "bind":
            return self._bind(node)
        name = node.function.removeprefix(".")
        function = self._environment.functions.get(name)
        operands = [*([node.target] if node.target is not None else ()), *node.args]
        if function is None or not any(o.id in node.overloads for o in function.overloads):
            # A qualified function name, whose prefix was parsed as a target.
            function, operands = self._qualified(node), list(node.args)
        candidates = [o for o in function.overloads if o.id in node.overloads]
        return _invocation(function, candidates, [self._compile(operand) for operand in operands])

    def _qualified(self, node: ast.Call) -> Function:
        from steersman.cel.checker import qualified_name  # noqa: PLC0415 — the checker compiles nothing

        prefix = qualified_name(node.target) if node.target is not None else ""
        return self._environment.functions[f"{prefix}.{node.function}"]

    def _bind(self, node: ast.Call) -> Step:
        variable, value_node, body_node = node.args
        value, slot = self._compile(value_node), self._slot()
        self._scopes.append({getattr(variable, "name", ""): slot})
        body = self._compile(body_node)
        self._scopes.pop()

        def bind(state: State) -> Any:
            state.slots[slot] = value(state)
            return body(state)

        return bind

    def _list(self, node: ast.ListNode) -> Step:
        items = [(self._compile(item), place in node.optional) for place, item in enumerate(node.items)]

        def build(state: State) -> list[Any]:
            state.cost += _LIST_COST
            elements: list[Any] = []
            for item, optional in items:
                value = item(state)
                if not optional:
                    elements.append(value)
                elif not isinstance(value, v.Optional):
                    raise EvalError(
                        f"cannot initialize optional list element from non-optional value {v.show_key(value)}"
                    )
                elif value.has_value:
                    elements.append(value.value)
            return elements

        return build

    def _map(self, node: ast.MapNode) -> Step:
        entries = [(self._compile(e.key), self._compile(e.value), e.optional) for e in node.entries]

        def build(state: State) -> dict[Any, Any]:
            state.cost += _MAP_COST
            items_by_key: dict[Any, Any] = {}
            for key_of, value_of, optional in entries:
                key, value = key_of(state), value_of(state)
                if isinstance(key, (list, dict)):
                    raise EvalError(f"unsupported key type: {v.type_name(key)}")
                if not optional:
                    items_by_key[key] = value
                elif not isinstance(value, v.Optional):
                    entry = f"optional entry '{v.show_key(key)}'"
                    raise EvalError(f"cannot initialize {entry} from non-optional value {v.show_key(value)}")
                elif value.has_value:
                    items_by_key[key] = value.value
                else:
                    items_by_key.pop(key, None)
            return items_by_key

        return build

    def _object(self, node: ast.ObjectNode) -> Step:
        entries = [(e.key, self._compile(e.value), e.optional) for e in node.entries]
        name = node.name

        def build(state: State) -> ObjectValue:
            state.cost += _OBJECT_COST
            fields: dict[str, Any] = {}
            for key, value_of, optional in entries:
                value = value_of(state)
                if not optional:
                    fields[key] = value
                elif isinstance(value, v.Optional) and value.has_value:
                    fields[key] = value.value
            return ObjectValue(fields, name)

        return build

    def _comprehension(self, node: ast.Comprehension) -> Step:
        range_ = self._compile(node.range)
        slots = [self._slot() for _ in node.variables]
        self._scopes.append(dict(zip(node.variables, slots, strict=True)))
        condition = self._compile(node.condition) if node.condition is not None else None
        step = self._compile(node.step) if node.step is not None else None
        self._scopes.pop()
        return loop(node.macro, range_, slots, condition, step)

    def _optional_map(self, node: ast.OptionalMap) -> Step:
        target, slot, flat = self._compile(node.target), self._slot(), node.flat
        self._scopes.append({node.variable: slot})
        step = self._compile(node.step)
        self._scopes.pop()

        def mapped(state: State) -> v.Optional:
            state.cost += 1
            value = target(state)
            if not isinstance(value, v.Optional):
                raise no_overload("hasValue")
            if not value.has_value:
                return v.NONE
            state.slots[slot] = value.value
            result = step(state)
            if not flat:
                return v.Optional(result)
            if not isinstance(result, v.Optional):
                raise no_overload("optFlatMap")
            return result

        return mapped


#: Methods by type of node; bound methods in an attribute would be a reference cycle.
_HANDLERS: Final[dict[type, Callable[..., Step]]] = {
    ast.Literal: Evaluator._literal,
    ast.Ident: Evaluator._ident,
    ast.Select: Evaluator._select,
    ast.Call: Evaluator._call,
    ast.ListNode: Evaluator._list,
    ast.MapNode: Evaluator._map,
    ast.ObjectNode: Evaluator._object,
    ast.Comprehension: Evaluator._comprehension,
    ast.OptionalMap: Evaluator._optional_map,
}


def _local(slot: int) -> Step:
    def load(state: State) -> Any:
        state.cost += 1
        return state.slots[slot]

    return load


def _variable(slot: int, name: str) -> Step:
    def load(state: State) -> Any:
        state.cost += 1
        value = state.slots[slot]
        if value is _UNSET:
            raise EvalError(f"no such attribute(s): {name}")
        return value

    return load


def _selection(operand: Step, field: str) -> Step:
    def select(state: State) -> Any:
        state.cost += 1
        value = operand(state)
        if isinstance(value, dict):
            try:
                return value[field]
            except KeyError:
                raise v.missing_key(field) from None
        if isinstance(value, v.Optional):
            return optional_index(value, field)
        if isinstance(value, list):
            return index_value(value, field)
        raise v.missing_key(field)

    return select


def _optional_select(operand: Step, field: str) -> Step:
    def select(state: State) -> v.Optional:
        state.cost += 1
        return optional_index(operand(state), field)

    return select


def _presence(operand: Step, field: str) -> Step:
    def test(state: State) -> bool:
        value = operand(state)
        if isinstance(value, v.Optional):
            return optional_index(value, field).has_value
        return isinstance(value, dict) and field in value

    return test


def _conditional(condition: Step, yes: Step, no: Step) -> Step:
    def choose(state: State) -> Any:
        answer = condition(state)
        if answer is True:
            return yes(state)
        if answer is False:
            return no(state)
        raise EvalError("no such overload")

    return choose


def _either(decisive: bool) -> Callable[[Step, Step], Step]:  # noqa: FBT001 — the value that decides, not a switch
    """Build ``&&`` or ``||``: a decisive operand suppresses an error of the other, in either order."""

    def build(left: Step, right: Step) -> Step:
        def decide(state: State) -> bool:
            try:
                first = left(state)
            except CostError:
                raise
            except EvalError:
                if right(state) is decisive:
                    return bool(decisive)
                raise
            if first is decisive:
                return bool(decisive)
            second = right(state)
            if second is decisive:
                return bool(decisive)
            if not isinstance(first, bool) or not isinstance(second, bool):
                raise EvalError("no such overload")
            return not decisive

        return decide

    return build


#: Operators that are compiled to control flow.
_SPECIAL: Final[dict[str, Callable[..., Step]]] = {
    "_?_:_": _conditional,
    "_&&_": _either(False),
    "_||_": _either(True),
}


def _invocation(function: Function, candidates: Sequence[Overload], operands: Sequence[Step]) -> Step:
    compute = _dispatch(function, candidates)
    cost = function.cost
    if cost is not None and len(operands) == 2:  # a tenth less time for most expressions of rules and conditions
        left, right = operands

        def costly_binary(state: State) -> Any:
            args = left(state), right(state)
            result = compute(*args)
            state.charge(cost(args, result))
            return result

        return costly_binary
    if cost is not None:

        def costly(state: State) -> Any:
            args = [operand(state) for operand in operands]
            result = compute(*args)
            state.charge(cost(args, result))
            return result

        return costly
    if len(operands) == 2:
        first, second = operands

        def binary(state: State) -> Any:
            state.cost += 1
            return compute(first(state), second(state))

        return binary

    def call(state: State) -> Any:
        state.cost += 1
        return compute(*[operand(state) for operand in operands])

    return call


def _dispatch(function: Function, candidates: Sequence[Overload]) -> Callable[..., Any]:
    """Return the implementation of a call, dispatching on argument types unless all candidates share it."""
    if not function.has_type_guards:
        return candidates[0].compute
    computes = {overload.compute for overload in candidates}
    if len(computes) == 1 and function.name.startswith(("_", "@", "-", "!")):
        return candidates[0].compute
    name = function.name

    def compute(*args: Any) -> Any:
        for overload in candidates:
            if overload.takes(args):
                return overload.compute(*args)
        raise EvalError(f"no such overload: {name}({', '.join(map(v.type_name, args))})")

    return compute
