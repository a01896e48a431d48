"""Amounts of resources by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.quantity import Quantity, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Amounts = dict[str, Quantity]

ZERO: Final = Quantity(0)
ONE: Final = Quantity.of(1)


def read(texts: Mapping[str, str] | None) -> Amounts:
    """As objects hold them."""
    return {name: parse(text) for name, text in (texts or {}).items()}


def texts(amounts: Amounts) -> dict[str, str]:
    """As objects hold them."""
    return {name: str(amount) for name, amount in amounts.items()}


def plus(one: Amounts, other: Amounts) -> Amounts:
    """The sum, in the first one's formats."""
    total = dict(one)
    for name, amount in other.items():
        total[name] = total[name] + amount if name in total else amount
    return total


def minus(one: Amounts, other: Amounts) -> Amounts:
    """The difference, which may be less than nothing."""
    return plus(one, {name: -amount for name, amount in other.items()})


def only(amounts: Amounts, names: Iterable[str]) -> Amounts:
    """Those of the names."""
    return {name: amounts[name] for name in names if name in amounts}


def shown(amounts: Amounts) -> str:
    """As messages show them, by name."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))
