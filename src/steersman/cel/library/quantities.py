"""Quantity library: ``quantity('1Gi').isGreaterThan(quantity('1G'))``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import quantity
from steersman.apimachinery.quantity import Quantity
from steersman.cel.functions import Function, Overload, member
from steersman.cel.standard import tenth
from steersman.cel.types import BOOL, DOUBLE, INT, STRING, object_type
from steersman.cel.values import INT_MAX, INT_MIN, EvalError, Opaque

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NANOS: Final = 10**9

QUANTITY: Final = object_type("kubernetes.Quantity", {})
TYPES: Final = {QUANTITY.name: QUANTITY}


class QuantityValue(Opaque):
    """A resource quantity."""

    type_name: ClassVar[str] = QUANTITY.name
    __slots__ = ("amount",)

    def __init__(self, amount: Quantity) -> None:
        self.amount: Final = amount

    @property
    def key(self) -> Any:
        return self.amount


def _parse(text: str) -> QuantityValue:
    try:
        return QuantityValue(quantity.parse(text))
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


def _is_integer(value: QuantityValue) -> bool:
    whole, rest = divmod(value.amount.nanos, _NANOS)
    return not rest and INT_MIN <= whole <= INT_MAX


def _as_integer(value: QuantityValue) -> int:
    if not _is_integer(value):
        raise EvalError("cannot convert value to integer")
    return int(value.amount)


def _as_float(value: QuantityValue) -> float:
    return value.amount.nanos / _NANOS


def _add(value: QuantityValue, other: Any) -> QuantityValue:
    more = other.amount if isinstance(other, QuantityValue) else Quantity.of(other)
    return QuantityValue(value.amount + more)


def _sub(value: QuantityValue, other: Any) -> QuantityValue:
    less = other.amount if isinstance(other, QuantityValue) else Quantity.of(other)
    return QuantityValue(value.amount - less)


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
