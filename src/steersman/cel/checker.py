"""Type checker with cel-go's rules and error messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.cel import ast
from steersman.cel import types as t
from steersman.cel.source import CompileError, Issue, Source
from steersman.cel.subtypes import UInt
from steersman.cel.types import Bindings, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.cel.ast import Node
    from steersman.cel.environment import Environment
    from steersman.cel.functions import Function, Overload

_CONSTANTS: Final[dict[type, Type]] = {
    bool: t.BOOL,
    int: t.INT,
    UInt: t.UINT,
    float: t.DOUBLE,
    str: t.STRING,
    bytes: t.BYTES,
    type(None): t.NULL,
}


def check(tree: Node, source: Source, environment: Environment) -> Type:
    """Check an expression, annotate every node with its type and return the type. Raises CompileError."""
    checker = _Checker(environment)
    checker.check(tree)
    if checker.issues:
        raise CompileError(source, checker.issues)
    return checker.finish(tree)


def qualified_name(node: Node) -> str:
    """Return ``a.b.c`` for a chain of selections; empty for other nodes."""
    parts: list[str] = []
    while isinstance(node, ast.Select):
        if node.test or node.optional:
            return ""
        parts.append(node.name)
        node = node.operand
    if not isinstance(node, ast.Ident):
        return ""
    return ".".join((node.name, *reversed(parts)))


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self._environment: Final = environment
        self._scopes: list[dict[str, Type]] = []
        self._bindings = Bindings()
        self._free = 0
        self.issues: Final[list[Issue]] = []

    def check(self, node: Node) -> Type:
        checked = _HANDLERS[type(node)](self, node)
        node.type = checked
        return checked

    def finish(self, tree: Node) -> Type:
        """Substitute the resolved type parameters."""
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            if node.type is not None:
                node.type = self._bindings.resolve(node.type, free_is_dyn=True)
            waiting.extend(node.children())
        return tree.type or t.DYN

    def _report_error(self, position: int, message: str) -> Type:
        self.issues.append(Issue(position, message))
        return t.ERROR

    def _undeclared(self, position: int, name: str) -> Type:
        return self._report_error(position, f"undeclared reference to '{name}' (in container '')")

    def _new_param(self) -> Type:
        self._free += 1
        return t.param(f"_var{self._free}")

    def _resolve_type(self, type_: Type) -> Type:
        return self._bindings.resolve(type_)

    def _literal(self, node: ast.Literal) -> Type:
        return _CONSTANTS[type(node.value)]

    def _find(self, name: str) -> Type | None:
        plain = name.removeprefix(".")
        if plain == name:
            for scope in reversed(self._scopes):
                if name in scope:
                    return scope[name]
        declared = self._environment.variables.get(plain)
        if declared is not None:
            return declared
        named = self._environment.type_named(plain)
        return None if named is None else t.type_of(named)

    def _ident(self, node: ast.Ident) -> Type:
        return self._find(node.name) or self._undeclared(node.position, node.name)

    def _select(self, node: ast.Select) -> Type:
        name = qualified_name(node)
        if name and not self._is_local(name.partition(".")[0]):
            resolved = self._find(name)
            if resolved is not None:
                node.qualified = name
                return resolved
        target = self._resolve_type(self.check(node.operand))
        unwrapped = target.params[0] if t.is_optional(target) else target
        resolved = self._field(node, unwrapped)
        if node.test:
            return t.BOOL
        return t.optional_of(resolved) if node.optional or t.is_optional(target) else resolved

    def _is_local(self, name: str) -> bool:
        return any(name in scope for scope in self._scopes)

    def _field(self, node: ast.Select, target: Type) -> Type:
        if target.kind == "map":
            return target.params[1]
        if target.kind == "object":
            field = target.fields.get(node.name)
            if field is None:
                return self._report_error(node.position, f"undefined field '{node.name}'")
            node.field = target.keys.get(node.name, node.name)
            return field
        if target.kind == "param":
            self._bindings.assignable(t.DYN, target)
            return t.DYN
        if not t.is_dyn_or_error(target):
            self._report_error(node.position, f"type '{target.show()}' does not support field selection")
        return t.DYN

    def _call(self, node: ast.Call) -> Type:
        if node.target is not None and node.function == "bind" and self._is_bind(node):
            return self._bind(node)
        for arg in node.args:
            self.check(arg)
        functions = self._environment.functions
        if node.target is None:
            function = functions.get(node.function.removeprefix("."))
            return self._resolve(node, function, None) if function else self._undeclared(node.position, node.function)
        prefix = qualified_name(node.target)
        function = functions.get(f"{prefix}.{node.function}") if prefix else None
        if function is not None:
            return self._resolve(node, function, None)
        self.check(node.target)
        function = functions.get(node.function)
        if function is None:
            return self._undeclared(node.position, node.function)
        return self._resolve(node, function, node.target)

    def _is_bind(self, node: ast.Call) -> bool:
        is_cel = isinstance(node.target, ast.Ident) and node.target.name == "cel"
        return self._environment.bindings and is_cel and len(node.args) == 3

    def _bind(self, node: ast.Call) -> Type:
        variable, value, body = node.args
        if not isinstance(variable, ast.Ident):
            return self._report_error(variable.position, "cel.bind() variable names must be simple identifiers")
        self._scopes.append({variable.name: self.check(value)})
        checked_body = self.check(body)
        self._scopes.pop()
        return checked_body

    def _resolve(self, node: ast.Call, function: Function, target: Node | None) -> Type:
        operands = [*([target] if target is not None else ()), *node.args]
        actual = [self._resolve_type(operand.type or t.DYN) for operand in operands]
        result, overload_ids = self._try_overloads(function, actual, is_member=target is not None)
        if result is None:
            return self._no_overload(node.position, function.name, actual, is_member=target is not None)
        node.overloads = tuple(overload_ids)
        return result

    def _try_overloads(
        self, function: Function, actual: Sequence[Type], *, is_member: bool
    ) -> tuple[Type | None, list[str]]:
        result: Type | None = None
        overload_ids: list[str] = []
        for overload in function.overloads:
            if overload.member is not is_member or len(overload.params) != len(actual):
                continue
            params, own_result = self._fresh(overload)
            trial = self._bindings.copy()
            if not all(map(trial.assignable, params, actual)):
                continue
            self._bindings = trial
            overload_ids.append(overload.id)
            own = trial.resolve(own_result)
            if result is None:
                result = own
            elif not t.is_dyn(result) and own != result:
                result = t.DYN
        return result, overload_ids

    def _fresh(self, overload: Overload) -> tuple[list[Type], Type]:
        """Return the overload's types with fresh type parameters."""
        names: dict[Type, Type] = {}
        return [self._rename(p, names) for p in overload.params], self._rename(overload.result, names)

    def _rename(self, type_: Type, names: dict[Type, Type]) -> Type:
        """Replace type parameters by those in ``names``, which receives new ones."""
        if type_.kind == "param":
            if type_ not in names:
                names[type_] = self._new_param()
            return names[type_]
        if not type_.params:
            return type_
        return Type(type_.kind, type_.name, [self._rename(p, names) for p in type_.params])

    def _no_overload(self, position: int, name: str, actual: Sequence[Type], *, is_member: bool = False) -> Type:
        names = [self._bindings.resolve(type_, free_is_dyn=True).show() for type_ in actual]
        applied = f"{names[0]}.({', '.join(names[1:])})" if is_member else f"({', '.join(names)})"
        return self._report_error(position, f"found no matching overload for '{name}' applied to '{applied}'")

    def _operator(self, position: int, name: str, *actual: Type) -> Type:
        """Return the result type of an operator used by a macro."""
        resolved = [self._resolve_type(type_) for type_ in actual]
        result, _ = self._try_overloads(self._environment.functions[name], resolved, is_member=False)
        return self._no_overload(position, name, resolved) if result is None else result

    def _join(self, before: Type | None, type_: Type) -> Type:
        """Return the common type of list items or map entries; ``validators`` rejects literals that mix types."""
        if before is None:
            return type_
        trial = self._bindings.copy()
        if trial.assignable(before, type_):
            self._bindings = trial
            return before if t.is_less_specific(before, type_) else type_
        return t.DYN

    def _mismatch(self, position: int, expected: Type, actual: Type) -> Type:
        names = [self._bindings.resolve(type_, free_is_dyn=True).show() for type_ in (expected, actual)]
        return self._report_error(position, f"expected type '{names[0]}' but found '{names[1]}'")

    def _unwrapped(self, node: Node) -> Type:
        """Return the element type of an optional item."""
        type_ = self._resolve_type(self.check(node))
        if t.is_optional(type_):
            return type_.params[0]
        if not t.is_dyn(type_):
            self._mismatch(node.position, t.optional_of(type_), type_)
        return type_

    def _list(self, node: ast.ListNode) -> Type:
        joined: Type | None = None
        for position, item in enumerate(node.items):
            type_ = self._unwrapped(item) if position in node.optional else self.check(item)
            joined = self._join(joined, self._resolve_type(type_))
        return t.list_of(joined or self._new_param())

    def _map(self, node: ast.MapNode) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            keys = self._join(keys, self._resolve_type(self.check(entry.key)))
            type_ = self._unwrapped(entry.value) if entry.optional else self.check(entry.value)
            values = self._join(values, self._resolve_type(type_))
        return t.map_of(keys or self._new_param(), values or self._new_param())

    def _object(self, node: ast.ObjectNode) -> Type:
        type_ = self._environment.type_named(node.name)
        if type_ is None:
            for entry in node.entries:
                self.check(entry.value)
            return self._undeclared(node.position, node.name)
        if type_.kind != "object":
            return self._report_error(node.position, f"'{node.name}' is not a message type")
        for entry in node.entries:
            actual = self._unwrapped(entry.value) if entry.optional else self._resolve_type(self.check(entry.value))
            expected = type_.fields.get(entry.key)
            if expected is None:
                self._report_error(entry.position, f"undefined field '{entry.key}'")
            elif not self._bindings.copy().assignable(expected, actual):
                detail = f"is '{expected.show()}' but provided type is '{actual.show()}'"
                self._report_error(entry.position, f"expected type of field '{entry.key}' {detail}")
        return type_

    def _range(self, node: Node) -> tuple[Type, Type]:
        """Return the types of both iteration variables: key or index, and value or item."""
        type_ = self._resolve_type(self.check(node))
        if type_.kind == "map":
            return type_.params[0], type_.params[1]
        if type_.kind == "list":
            return t.INT, type_.params[0]
        if t.is_dyn_or_error(type_) or type_.kind == "param":
            self._bindings.assignable(t.DYN, type_)
            return t.DYN, t.DYN
        detail = "cannot be range of a comprehension (must be list, map, or dynamic)"
        error = self._report_error(node.position, f"expression of type '{type_.show()}' {detail}")
        return error, error

    def _comprehension(self, node: ast.Comprehension) -> Type:
        key, value = self._range(node.range)
        if len(node.variables) == 1:
            is_map = node.range.type is not None and self._resolve_type(node.range.type).kind == "map"
            scope = {node.variables[0]: key if is_map else value}
        else:
            scope = dict(zip(node.variables, (key, value), strict=True))
        self._scopes.append(scope)
        condition = self.check(node.condition) if node.condition is not None else t.BOOL
        step = self.check(node.step) if node.step is not None else None
        self._scopes.pop()
        return self._result(node, condition, step, key, scope[node.variables[0]])

    def _result(self, node: ast.Comprehension, condition: Type, step: Type | None, key: Type, item: Type) -> Type:
        at = node.position
        match node.macro:
            case "all" | "exists":
                self._operator(at, "_&&_" if node.macro == "all" else "_||_", t.BOOL, condition)
                return t.BOOL
            case "existsOne":
                self._operator(at, "_?_:_", condition, t.INT, t.INT)
                return t.BOOL
            case "transformMap":
                result = t.map_of(key, step or t.DYN)
            case "transformMapEntry":
                entry = self._resolve_type(step or t.DYN)
                if entry.kind != "map" and not t.is_dyn_or_error(entry):
                    return self._no_overload(at, "cel.@mapInsert", (t.map_of(t.DYN, t.DYN), entry))
                result = entry if entry.kind == "map" else t.map_of(t.DYN, t.DYN)
            case _:
                result = t.list_of(step if step is not None else item)
        if node.condition is None:
            return result
        chosen = self._operator(at, "_?_:_", condition, result, result)
        # As cel-go: an item type that cannot be joined leaves the result's element type unresolved.
        return t.list_of(self._new_param()) if chosen is t.ERROR and result.kind == "list" else result

    def _optional_map(self, node: ast.OptionalMap) -> Type:
        target = self._resolve_type(self.check(node.target))
        if t.is_optional(target):
            inner = target.params[0]
        elif t.is_dyn_or_error(target) or target.kind == "param":
            inner = t.DYN
        else:
            return self._no_overload(node.position, "hasValue", (target,), is_member=True)
        self._scopes.append({node.variable: inner})
        step = self._resolve_type(self.check(node.step))
        self._scopes.pop()
        if not node.flat:
            return t.optional_of(step)
        return self._operator(node.position, "_?_:_", t.BOOL, step, t.optional_of(self._new_param()))


#: Methods by type of node; bound methods in an attribute would be a reference cycle.
_HANDLERS: Final[dict[type, Callable[..., Type]]] = {
    ast.Literal: _Checker._literal,
    ast.Ident: _Checker._ident,
    ast.Select: _Checker._select,
    ast.Call: _Checker._call,
    ast.ListNode: _Checker._list,
    ast.MapNode: _Checker._map,
    ast.ObjectNode: _Checker._object,
    ast.Comprehension: _Checker._comprehension,
    ast.OptionalMap: _Checker._optional_map,
}
