"""Types of expressions, type parameters and assignability."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Type:
    """A type: kind, name and type arguments."""

    __slots__ = ("fields", "keys", "kind", "max_size", "min_json_size", "name", "params")

    def __init__(
        self,
        kind: str,
        name: str = "",
        params: Sequence[Type] = (),
        *,
        fields: Mapping[str, Type] | None = None,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        self.kind: Final = kind
        self.name: Final = name or kind
        self.params: Final = tuple(params)
        #: Object fields by escaped name.
        self.fields: Mapping[str, Type] = {} if fields is None else fields
        #: Object field names in the tree where they differ from the escaped ones.
        self.keys: Mapping[str, str] = {} if keys is None else keys
        #: Maximum number of characters, items or entries; None if unbounded. Not part of the identity of the type.
        self.max_size: int | None = None
        #: Minimum size of a value in JSON, in bytes.
        self.min_json_size = 0

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Type)
            and self.kind == other.kind
            and self.name == other.name
            and self.params == other.params
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.params))

    def __str__(self) -> str:
        """Return the name used for results: ``list(int)``, ``google.protobuf.Timestamp``, ``null_type``."""
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name

    def __repr__(self) -> str:
        return f"Type({self})"

    def show(self) -> str:
        """Return the name used in checker errors: ``timestamp``, ``null``, ``map(string, dyn)``."""
        plain = _SHOWN.get(self.kind)
        if plain is not None:
            return plain
        return f"{self.name}({', '.join(p.show() for p in self.params)})" if self.params else self.name


_SHOWN: Final = {"timestamp": "timestamp", "duration": "duration", "null": "null", "error": "!error!", "any": "any"}

BOOL: Final = Type("bool")
INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
NULL: Final = Type("null", "null_type")
DYN: Final = Type("dyn")
ANY: Final = Type("any", "google.protobuf.Any")
ERROR: Final = Type("error", "*error*")
TIMESTAMP: Final = Type("timestamp", "google.protobuf.Timestamp")
DURATION: Final = Type("duration", "google.protobuf.Duration")
TYPE: Final = Type("type")


def list_of(item: Type) -> Type:
    """Return ``list(item)``."""
    return Type("list", "list", (item,))


def map_of(key: Type, value: Type) -> Type:
    """Return ``map(key, value)``."""
    return Type("map", "map", (key, value))


def type_of(inner: Type) -> Type:
    """Return the type of a type."""
    return Type("type", "type", (inner,))


def optional_of(inner: Type) -> Type:
    """Return ``optional_type(inner)``."""
    return Type("opaque", "optional_type", (inner,))


def param(name: str) -> Type:
    """Return a type parameter."""
    return Type("param", name)


def opaque(name: str) -> Type:
    """Return an opaque type of a library."""
    return Type("opaque", name)


def object_type(name: str, fields: Mapping[str, Type], keys: Mapping[str, str] | None = None) -> Type:
    """Return an object type with declared fields."""
    return Type("object", name, fields=fields, keys=keys)


LIST_DYN: Final = list_of(DYN)
MAP_DYN: Final = map_of(DYN, DYN)


def sized(type_: Type, max_size: int | None, *, min_json_size: int = 0) -> Type:
    """Return the type with a bound on the size of its values."""
    sized_type = Type(type_.kind, type_.name, type_.params, fields=type_.fields, keys=type_.keys)
    sized_type.max_size = max_size
    sized_type.min_json_size = min_json_size
    return sized_type


def is_optional(type_: Type) -> bool:
    """Report whether the type is an ``optional_type``."""
    return type_.kind == "opaque" and type_.name == "optional_type"


def is_dyn(type_: Type) -> bool:
    """Report whether the type is ``dyn``."""
    return type_.kind in ("dyn", "any")


def is_dyn_or_error(type_: Type) -> bool:
    """Report whether the type is ``dyn`` or the result of a reported error."""
    return type_.kind in ("dyn", "any", "error")


class Bindings:
    """Substitutions of type parameters."""

    __slots__ = ("_substitutions",)

    def __init__(self, substitutions: Mapping[Type, Type] | None = None) -> None:
        self._substitutions: Final = dict(substitutions or {})

    def copy(self) -> Bindings:
        """Return a copy for a trial match."""
        return Bindings(self._substitutions)

    def find(self, type_: Type) -> Type | None:
        """Return the binding of a parameter, or None."""
        return self._substitutions.get(type_)

    def add(self, type_: Type, meaning: Type) -> None:
        """Bind a parameter."""
        self._substitutions[type_] = meaning

    def resolve(self, type_: Type, *, free_is_dyn: bool = False) -> Type:
        """Return the type with its parameters substituted."""
        bound = self._substitutions.get(type_)
        if bound is not None:
            return self.resolve(bound, free_is_dyn=free_is_dyn)
        if type_.kind == "param":
            return DYN if free_is_dyn else type_
        if not type_.params:
            return type_
        params = [self.resolve(p, free_is_dyn=free_is_dyn) for p in type_.params]
        if all(map(is_, params, type_.params)):
            return type_
        return Type(type_.kind, type_.name, params)

    def assignable(self, expected: Type, actual: Type) -> bool:
        """Report whether ``actual`` is assignable to ``expected``; binds parameters. Upstream: ``internalIsAssignable`` in
        cel-go.
        """
        if expected is actual:
            return True
        if expected.kind == "param":
            fits, decided = self._substitute(expected, actual)
            if decided:
                return fits
        if actual.kind == "param":
            fits, decided = self._substitute(actual, expected)
            if decided:
                return fits
        if is_dyn_or_error(expected) or is_dyn_or_error(actual):
            return True
        if expected.kind == "null":
            return _takes_null(actual)
        if actual.kind == "null":
            return _takes_null(expected)
        if expected.kind != actual.kind:
            return False
        if expected.kind == "type":
            return True
        if expected.name != actual.name or len(expected.params) != len(actual.params):
            return False
        return all(map(self.assignable, expected.params, actual.params))

    def _substitute(self, parameter: Type, other: Type) -> tuple[bool, bool]:
        """Return whether the types match, and whether the binding already decides it."""
        bound = self._substitutions.get(parameter)
        if bound is not None:
            if bound == other:
                return True, True
            if not self.assignable(bound, other):
                return False, True
            general = other if is_less_specific(other, bound) else bound
            if not self._occurs(parameter, general):
                self._substitutions[parameter] = general
            return True, True
        if parameter == other:
            return True, True
        if self._occurs(parameter, other):
            return False, False
        self._substitutions[parameter] = other
        return True, True

    def _occurs(self, parameter: Type, other: Type) -> bool:
        if parameter == other:
            return True
        if other.kind == "param":
            bound = self._substitutions.get(other)
            return bound is not None and self._occurs(parameter, bound)
        return any(self._occurs(parameter, p) for p in other.params)


def _takes_null(type_: Type) -> bool:
    return type_.kind in ("null", "object", "timestamp", "duration", "opaque", "any", "dyn")


def is_less_specific(one: Type, other: Type) -> bool:
    """Report whether ``one`` is as general as ``other`` or more."""
    if is_dyn(one) or one.kind == "param":
        return True
    if is_dyn(other) or other.kind == "param":
        return False
    if one.kind != other.kind or one.name != other.name or len(one.params) != len(other.params):
        return False
    return one.kind == "type" or all(map(is_less_specific, one.params, other.params))
