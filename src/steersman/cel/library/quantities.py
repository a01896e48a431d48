"""Quantity library: ``quantity('1Gi').isGreaterThan(quantity('1G'))``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import quantity
from steersman.apimachinery.quantity import Int64Amount, Quantity
from steersman.cel.functions import Function, Overload, member
from steersman.cel.standard import tenth
from steersman.cel.types import BOOL, DOUBLE, INT, STRING, object_type
from steersman.cel.values import EvalError, Opaque

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NANOS: Final = 10**9

QUANTITY: Final = object_type("kubernetes.Quantity", {})
TYPES: Final = {QUANTITY.name: QUANTITY}


class QuantityValue(Opaque):
    """A resource quantity."""

    type_name: ClassVar[str] = QUANTITY.name
    __slots__ = ("amount", "small")

    def __init__(self, amount: Quantity, small: Int64Amount | None = None) -> None:
        self.amount: Final = amount
        #: The amount if upstream keeps it as an int64; only then can it be an integer.
        self.small: Final = small

    @classmethod
    def of(cls, text: str) -> QuantityValue:
        """Parse a quantity. Raises ValueError."""
        return cls(quantity.parse(text), quantity.int64_amount(text))

    @property
    def key(self) -> Any:
        return self.amount


def _parse(text: str) -> QuantityValue:
    try:
        return QuantityValue.of(text)
    except ValueError as error:
        raise EvalError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except ValueError:
        return False
    return True


def _compare(one: QuantityValue, other: QuantityValue) -> int:
    return (one.amount > other.amount) - (one.amount < other.amount)


def _integer(value: QuantityValue) -> int | None:
    return None if value.small is None else value.small.integer


def _is_integer(value: QuantityValue) -> bool:
    return _integer(value) is not None


def _as_integer(value: QuantityValue) -> int:
    integer = _integer(value)
    if integer is None:
        raise EvalError("cannot convert value to integer")
    return integer


def _as_float(value: QuantityValue) -> float:
    if value.small is None:
        return value.amount.nanos / _NANOS
    # Not a division: the result has upstream's rounding errors.
    return value.small.value * float(f"1e{value.small.scale}")


def _quantity(value: Any) -> QuantityValue:
    return value if isinstance(value, QuantityValue) else QuantityValue(Quantity.of(value), Int64Amount(value, 0))


def _add(value: QuantityValue, other: Any) -> QuantityValue:
    more = _quantity(other)
    total = None if value.small is None or more.small is None else value.small.plus(more.small)
    return QuantityValue(value.amount + more.amount, total)


def _sub(value: QuantityValue, other: Any) -> QuantityValue:
    less = _quantity(other)
    rest = None
    if value.small is not None and less.small is not None:
        rest = value.small.plus(Int64Amount(-less.small.value, less.small.scale))
    return QuantityValue(value.amount - less.amount, rest)


def _sign(value: QuantityValue) -> int:
    return (value.amount.nanos > 0) - (value.amount.nanos < 0)


def _walk(args: Sequence[Any], _: Any) -> int:
    return tenth(len(args[0]))


def functions() -> Iterator[Function]:
    """Return the functions of the library."""
    one, two = (QUANTITY,), (QUANTITY, QUANTITY)
    yield Function("quantity", [Overload("string_to_quantity", (STRING,), QUANTITY, _parse)], cost=_walk)
    yield Function("isQuantity", [Overload("is_quantity_string", (STRING,), BOOL, _is_quantity)], cost=_walk)
    yield Function("sign", [Overload("quantity_sign", one, INT, _sign)])
    yield Function("isGreaterThan", [member("quantity_is_greater_than", two, BOOL, lambda a, b: _compare(a, b) > 0)])
    yield Function("isLessThan", [member("quantity_is_less_than", two, BOOL, lambda a, b: _compare(a, b) < 0)])
    yield Function("compareTo", [member("quantity_compare_to", two, INT, _compare)])
    yield Function("asApproximateFloat", [member("quantity_get_float", one, DOUBLE, _as_float)])
    yield Function("asInteger", [member("quantity_get_int", one, INT, _as_integer)])
    yield Function("isInteger", [member("quantity_is_integer", one, BOOL, _is_integer)])
    for name, compute in (("add", _add), ("sub", _sub)):
        yield Function(
            name,
            [
                member(f"quantity_{name}", two, QUANTITY, compute),
                member(f"quantity_{name}_int", (QUANTITY, INT), QUANTITY, compute),
            ],
        )
