"""Resource lists with parsed quantities. Upstream: ``pkg/quota/v1/resources.go``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.quantity import Quantity, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Amounts = dict[str, Quantity]

ZERO: Final = Quantity(0)
ONE: Final = Quantity.of(1)


def read(texts: Mapping[str, str] | None) -> Amounts:
    """Parse a resource list."""
    return {name: parse(text) for name, text in (texts or {}).items()}


def texts(amounts: Amounts) -> dict[str, str]:
    """Format as a resource list."""
    return {name: str(amount) for name, amount in amounts.items()}


def plus(one: Amounts, other: Amounts) -> Amounts:
    """Return the sum, in the formats of ``one``."""
    total = dict(one)
    for name, amount in other.items():
        total[name] = total[name] + amount if name in total else amount
    return total


def minus(one: Amounts, other: Amounts) -> Amounts:
    """Return the difference, which may be negative."""
    return plus(one, {name: -amount for name, amount in other.items()})


def only(amounts: Amounts, names: Iterable[str]) -> Amounts:
    """Return the amounts with these names. Upstream: ``Mask``."""
    return {name: amounts[name] for name in names if name in amounts}


def shown(amounts: Amounts) -> str:
    """Format for messages, sorted by name. Upstream: ``prettyPrint``."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))
