"""Python representation of CEL values, equality and hashing.

bool, int (int64), float, str, bytes, None, list and dict represent themselves; the classes below represent the other
types. Errors (``EvalError``) are raised; ``&&``, ``||`` and ``?:`` catch those of operands that they may ignore.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from steersman.apimachinery.gotext import general_float_text
from steersman.cel.source import CelError
from steersman.cel.subtypes import ByDomain, MapList, SetList, UInt

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1
NANOS: Final = 10**9


class EvalError(CelError):
    """Evaluation error; the message is cel-go's."""


class CostError(EvalError):
    """The cost limit is exceeded; no operator catches it."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class Timestamp:
    """A point in time, in nanoseconds since 1970."""

    __slots__ = ("nanos",)

    #: Start of year 1 and end of year 9999.
    MIN: ClassVar[int] = -62135596800 * NANOS
    MAX: ClassVar[int] = 253402300799 * NANOS + 999_999_999

    def __init__(self, nanos: int) -> None:
        if not self.MIN <= nanos <= self.MAX:
            raise EvalError("timestamp overflow")
        self.nanos: Final = nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(("timestamp", self.nanos))


class Duration:
    """A duration in nanoseconds."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        if not INT_MIN <= nanos <= INT_MAX:
            raise EvalError("duration overflow")
        self.nanos: Final = nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(("duration", self.nanos))


class Optional:
    """A value of ``optional_type``."""

    __slots__ = ("_value", "has_value")

    def __init__(self, value: Any = None, *, has_value: bool = True) -> None:
        self._value: Final = value
        self.has_value: Final = has_value

    @property
    def value(self) -> Any:
        """Return the value. Raises EvalError if it is empty."""
        if not self.has_value:
            raise EvalError("optional.none() dereference")
        return self._value


NONE: Final = Optional(has_value=False)


class TypeValue:
    """A type as a value: ``type(1) == int``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(("type", self.name))


class Opaque:
    """A value of a library type; values of one type are equal if their ``key`` is."""

    #: Type name.
    type_name: ClassVar[str]

    __slots__ = ()

    @property
    def key(self) -> Any:
        """Return the identity of the value."""
        return id(self)


_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    SetList: "list",
    MapList: "list",
    dict: "map",
    ByDomain: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Optional: "optional_type",
    TypeValue: "type",
}


def type_name(value: Any) -> str:
    """Return the run-time type name of a value."""
    name = _NAMES.get(type(value))
    if name is not None:
        return name
    return str(getattr(value, "type_name", type(value).__name__))


def is_number(value: Any) -> bool:
    """Report whether the value is an int, uint or double."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def freeze(value: Any) -> Any:
    """Return a hashable form that is equal if the values are."""
    if isinstance(value, bool) or value is None:
        return (type(value).__name__, value)
    if isinstance(value, list):
        return ("list", tuple(freeze(item) for item in value))
    if isinstance(value, dict):
        return ("map", frozenset((freeze(key), freeze(item)) for key, item in value.items()))
    if isinstance(value, Opaque):
        return (value.type_name, value.key)
    return value


def item_key(item: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the key of an item of a list of type ``map``."""
    return tuple([freeze(item.get(key)) if isinstance(item, dict) else None for key in keys])


def equal(left: Any, right: Any) -> bool:
    """Evaluate ``==``; values of different types are equal only if they are numbers."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if is_number(left):
        return is_number(right) and bool(left == right)
    if isinstance(left, list):
        return isinstance(right, list) and _equal_lists(left, right)
    if isinstance(left, dict):
        return isinstance(right, dict) and _equal_maps(left, right)
    if isinstance(left, Optional):
        if not isinstance(right, Optional) or left.has_value != right.has_value:
            return False
        return not left.has_value or equal(left.value, right.value)
    if isinstance(left, Opaque):
        return isinstance(right, Opaque) and left.type_name == right.type_name and bool(left.key == right.key)
    return type(left) is type(right) and bool(left == right)


def _equal_lists(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    if isinstance(left, SetList):
        return {freeze(item) for item in left} == {freeze(item) for item in right}
    if isinstance(left, MapList):
        keys = left.keys
        others = {item_key(item, keys): item for item in right}
        return all((key := item_key(item, keys)) in others and equal(item, others[key]) for item in left)
    return all(map(equal, left, right))


def _equal_maps(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    if len(left) != len(right):
        return False
    missing = object()
    return all((other := right.get(key, missing)) is not missing and equal(item, other) for key, item in left.items())


def contains(items: list[Any], value: Any) -> bool:
    """Evaluate ``in`` for lists."""
    if isinstance(value, str):
        return value in items
    return any(equal(value, item) for item in items)


def lookup(mapping: dict[Any, Any], key: Any) -> Any:
    """Return a map value. Raises EvalError if the key is missing."""
    try:
        value = mapping[key]
    except KeyError:
        raise missing_key(key) from None
    except TypeError:
        raise EvalError(f"unsupported key type: {type_name(key)}") from None
    if isinstance(key, bool) and not any(own is key for own in mapping):
        raise missing_key(key)  # Python considers True equal to 1
    return value


def missing_key(key: Any) -> EvalError:
    """Return the error for a missing map key."""
    return EvalError(f"no such key: {show_key(key)}")


def show_key(key: Any) -> str:
    """Format a key as Go prints it."""
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float):
        return general_float_text(key)
    return str(int(key)) if isinstance(key, int) else str(key)


def index(items: list[Any], position: Any) -> Any:
    """Return a list item; integral doubles are valid indexes. Raises EvalError."""
    if isinstance(position, bool) or not isinstance(position, (int, float)):
        raise EvalError(f"unsupported index type '{type_name(position)}' in list")
    if isinstance(position, float) and not position.is_integer():
        raise EvalError(f"unsupported index value {position} in list")
    place = int(position)
    if not 0 <= place < len(items):
        raise EvalError(f"index out of bounds: {place}")
    return items[place]
