"""Types of expressions: what is declared, what is inferred, and when one goes where another is wanted."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Type:
    """A type: its kind, its name, and what it is made of."""

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
        #: Of objects: the fields by the names that expressions use.
        self.fields: Mapping[str, Type] = {} if fields is None else fields
        #: Of objects: the names in the tree where they differ from those.
        self.keys: Mapping[str, str] = {} if keys is None else keys
        #: How many characters, items or entries a value can have; None where nobody said. No part of the type's identity.
        self.max_size: int | None = None
        #: How few bytes a value takes in JSON.
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
        """As results are told: ``list(int)``, ``google.protobuf.Timestamp``, ``null_type``."""
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name

    def __repr__(self) -> str:
        return f"Type({self})"

    def show(self) -> str:
        """As the checker's errors tell it: ``timestamp``, ``null``, ``map(string, dyn)``."""
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
    """``list(item)``."""
    return Type("list", "list", (item,))


def map_of(key: Type, value: Type) -> Type:
    """``map(key, value)``."""
    return Type("map", "map", (key, value))


def type_of(inner: Type) -> Type:
    """The type of a type."""
    return Type("type", "type", (inner,))


def optional_of(inner: Type) -> Type:
    """``optional_type(inner)``."""
    return Type("opaque", "optional_type", (inner,))


def param(name: str) -> Type:
    """A type that is to be found out."""
    return Type("param", name)


def opaque(name: str) -> Type:
    """A type of a library's own."""
    return Type("opaque", name)


def object_type(name: str, fields: Mapping[str, Type], keys: Mapping[str, str] | None = None) -> Type:
    """An object with declared fields."""
    return Type("object", name, fields=fields, keys=keys)


LIST_DYN: Final = list_of(DYN)
MAP_DYN: Final = map_of(DYN, DYN)
MAP_STRING_DYN: Final = map_of(STRING, DYN)


def sized(type_: Type, max_size: int | None, *, min_json_size: int = 0) -> Type:
    """The same type, with a bound on the size of its values."""
    made = Type(type_.kind, type_.name, type_.params, fields=type_.fields, keys=type_.keys)
    made.max_size = max_size
    made.min_json_size = min_json_size
    return made


def is_optional(type_: Type) -> bool:
    """Whether it is an ``optional_type``."""
    return type_.kind == "opaque" and type_.name == "optional_type"


def is_dyn(type_: Type) -> bool:
    """Whether nothing is known of it."""
    return type_.kind in ("dyn", "any")


def is_dyn_or_error(type_: Type) -> bool:
    """Whether nothing is known of it, perhaps because of an error told already."""
    return type_.kind in ("dyn", "any", "error")


class Bindings:
    """What type parameters were found to stand for."""

    __slots__ = ("_known",)

    def __init__(self, known: Mapping[Type, Type] | None = None) -> None:
        self._known: Final = dict(known or {})

    def copy(self) -> Bindings:
        """A copy to try something with."""
        return Bindings(self._known)

    def find(self, type_: Type) -> Type | None:
        """What a parameter stands for."""
        return self._known.get(type_)

    def add(self, type_: Type, meaning: Type) -> None:
        """A parameter stands for this from now on."""
        self._known[type_] = meaning

    def resolve(self, type_: Type, *, free_is_dyn: bool = False) -> Type:
        """The type with what its parameters stand for."""
        known = self._known.get(type_)
        if known is not None:
            return self.resolve(known, free_is_dyn=free_is_dyn)
        if type_.kind == "param":
            return DYN if free_is_dyn else type_
        if not type_.params:
            return type_
        params = [self.resolve(p, free_is_dyn=free_is_dyn) for p in type_.params]
        if all(map(is_, params, type_.params)):
            return type_
        return Type(type_.kind, type_.name, params)

    def assignable(self, wanted: Type, given: Type) -> bool:
        """Whether a value of one type can go where another is wanted; learns parameters on the way (cel-go's ``mapping``)."""
        if wanted is given:
            return True
        if wanted.kind == "param":
            fits, decided = self._substitute(wanted, given)
            if decided:
                return fits
        if given.kind == "param":
            fits, decided = self._substitute(given, wanted)
            if decided:
                return fits
        if is_dyn_or_error(wanted) or is_dyn_or_error(given):
            return True
        if wanted.kind == "null":
            return _takes_null(given)
        if given.kind == "null":
            return _takes_null(wanted)
        if wanted.kind != given.kind:
            return False
        if wanted.kind == "type":
            return True
        if wanted.name != given.name or len(wanted.params) != len(given.params):
            return False
        return all(map(self.assignable, wanted.params, given.params))

    def _substitute(self, parameter: Type, other: Type) -> tuple[bool, bool]:
        """Whether it fits, and whether that is already said."""
        known = self._known.get(parameter)
        if known is not None:
            if known == other:
                return True, True
            if not self.assignable(known, other):
                return False, True
            general = other if is_less_specific(other, known) else known
            if not self._occurs(parameter, general):
                self._known[parameter] = general
            return True, True
        if parameter == other:
            return True, True
        if self._occurs(parameter, other):
            return False, False
        self._known[parameter] = other
        return True, True

    def _occurs(self, parameter: Type, other: Type) -> bool:
        if parameter == other:
            return True
        if other.kind == "param":
            known = self._known.get(other)
            return known is not None and self._occurs(parameter, known)
        return any(self._occurs(parameter, p) for p in other.params)


def _takes_null(type_: Type) -> bool:
    return type_.kind in ("null", "object", "timestamp", "duration", "opaque", "any", "dyn")


def is_less_specific(one: Type, other: Type) -> bool:
    """Whether ``one`` says as little as ``other``, or less."""
    if is_dyn(one) or one.kind == "param":
        return True
    if is_dyn(other) or other.kind == "param":
        return False
    if one.kind != other.kind or one.name != other.name or len(one.params) != len(other.params):
        return False
    return one.kind == "type" or all(map(is_less_specific, one.params, other.params))
