"""Resource quantities: ``100m`` of CPU, ``1Gi`` of memory; exact, in integer nano-units.

A quantity keeps its suffix family (decimal ``k M G``, binary ``Ki Mi Gi``, exponents ``e3``) and has one canonical text
in it: the largest suffix without a fraction. Upstream: ``k8s.io/apimachinery/pkg/api/resource``.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from steersman.apimachinery.text_cache import text_cache


class Format(StrEnum):
    """Suffix families."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMBER_WRONG: Final = "unable to parse numeric part of quantity"
SUFFIX_WRONG: Final = "unable to parse quantity's suffix"

_NANOS: Final = 10**9
_MAX_INT64: Final = 2**63 - 1
#: Digits that fit into an int64 with certainty.
_MAX_INT64_DIGITS: Final = 18
#: Larger exponents and more digits are of no use, but would make slow, huge integers.
_MAX_DIGITS: Final = 1000

_TEXT: Final = re.compile(r"([-+]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT: Final = re.compile(r"[eE]([-+]?[0-9]+)", re.ASCII)
_DECIMAL_SUFFIXES: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BY_EXPONENT: Final = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BY_POWER: Final = {power: suffix for suffix, power in _BINARY_SUFFIXES.items()}


class _Suffix(NamedTuple):
    base: int
    exponent: int
    format: Format


class Quantity:
    """Immutable quantity. Equal amounts are equal, whatever their text."""

    __slots__ = ("format", "looks_canonical", "nanos")

    def __init__(self, nanos: int, format_: Format = Format.DECIMAL_SI, *, looks_canonical: bool = False) -> None:
        """``looks_canonical``: see ``read_back``."""
        #: Billionths of one.
        self.nanos: Final = nanos
        self.format: Final = format_
        self.looks_canonical: Final = looks_canonical

    @classmethod
    def of(cls, value: int, format_: Format = Format.DECIMAL_SI) -> Quantity:
        """Return an integer quantity."""
        return cls(value * _NANOS, format_)

    @classmethod
    def of_milli(cls, value: int, format_: Format = Format.DECIMAL_SI) -> Quantity:
        """Return a quantity of milli-units."""
        return cls(value * (_NANOS // 1000), format_)

    def __int__(self) -> int:
        """Round up to an integer."""
        return -(-self.nanos // _NANOS)

    @property
    def milli(self) -> int:
        """Round up to milli-units."""
        return -(-self.nanos // (_NANOS // 1000))

    def __bool__(self) -> bool:
        return self.nanos != 0

    def __add__(self, other: Quantity) -> Quantity:
        """Return the sum in the family of the first operand, or of the second if the first is zero."""
        return Quantity(self.nanos + other.nanos, self.format if self.nanos else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos - other.nanos, self.format if self.nanos else other.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nanos, self.format)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nanos == other.nanos

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: Quantity) -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: Quantity) -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: Quantity) -> bool:
        return self.nanos >= other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __str__(self) -> str:
        if not self.nanos:
            return "0"
        whole, part = divmod(self.nanos, _NANOS)
        if self.format is Format.BINARY_SI and not part and not -1024 < whole < 1024:
            return _binary_text(whole)
        return _decimal_text(self.nanos, exponents=self.format is Format.DECIMAL_EXPONENT)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"


def _binary_text(whole: int) -> str:
    power = 0
    while power < 60 and whole % 1024 == 0:
        whole //= 1024
        power += 10
    return f"{whole}{_BY_POWER.get(power, '')}"


def _decimal_text(nanos: int, *, exponents: bool) -> str:
    exponent = -9
    while nanos % 1000 == 0 and (exponents or exponent < 18):
        nanos //= 1000
        exponent += 3
    if exponents:
        return f"{nanos}e{exponent}" if exponent else str(nanos)
    return f"{nanos}{_BY_EXPONENT[exponent]}"


@text_cache(4096, length_max=64)
def parse(text: str) -> Quantity:
    """Parse a quantity; fractions below a nano-unit are rounded up, away from zero.

    Raises ``ValueError`` with upstream's text.
    """
    match = _TEXT.fullmatch(text)
    if match is None or not text:
        raise ValueError(FORMAT_WRONG)
    sign, number, fraction, suffix_text = match.groups()
    fraction = fraction or ""
    suffix = _suffix(suffix_text)
    if len(number.lstrip("0")) + len(fraction) > _MAX_DIGITS:
        raise ValueError(NUMBER_WRONG)
    digits = int((number + fraction) or "0")
    if suffix.base == 2:
        nanos = _rounded_up(digits << suffix.exponent, 9 - len(fraction))
        nanos = min(nanos, _MAX_INT64 * _NANOS)
        # Values below one are no longer written in multiples of 1024.
        format_ = Format.DECIMAL_SI if 0 < nanos < _NANOS else suffix.format
    else:
        nanos = _rounded_up(digits, suffix.exponent + 9 - len(fraction))
        format_ = suffix.format
    looks_canonical = _looks_canonical(number.lstrip("0"), fraction, suffix)
    return Quantity(-nanos if sign == "-" else nanos, format_, looks_canonical=looks_canonical)


class Int64Amount(NamedTuple):
    """An amount that upstream keeps as an int64 and a power of ten, not as a decimal. Upstream: ``int64Amount``."""

    value: int
    scale: int

    @property
    def integer(self) -> int | None:
        """Return the amount as an int64 if it has no scale or a positive one, even if it is whole."""
        return _int64(self.value * 10**self.scale) if self.scale >= 0 else None

    def plus(self, other: Int64Amount) -> Int64Amount | None:
        """Return the sum; None if it needs a decimal."""
        if not other.value:
            return self
        if not self.value:
            return other
        scale = min(self.scale, other.scale)
        left = _int64(self.value * 10 ** (self.scale - scale))
        right = _int64(other.value * 10 ** (other.scale - scale))
        total = None if left is None or right is None else _int64(left + right)
        return None if total is None else Int64Amount(total, scale)


def _int64(value: int) -> int | None:
    return value if -_MAX_INT64 - 1 <= value <= _MAX_INT64 else None


def int64_amount(text: str) -> Int64Amount | None:
    """Return the amount of a valid quantity as upstream parses it; None if it needs a decimal. Upstream: ``ParseQuantity``."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    sign, number, fraction, suffix_text = match.groups()
    number, fraction = number.lstrip("0"), fraction or ""
    suffix = _suffix(suffix_text)
    count = len(number or "0") + len(fraction)
    if suffix.base == 2:
        if fraction or 14 - count - suffix.exponent * 3 // 10 < 0:
            return None
        scale, factor = 0, 1 << suffix.exponent
    else:
        scale, factor = suffix.exponent - len(fraction), 1
        if count > _MAX_INT64_DIGITS or scale < -9:
            return None
    value = _int64(int(number + fraction or "0") * factor)
    return None if value is None else Int64Amount(-value if sign == "-" else value, scale)


_SUFFIXES: Final = {
    **{text: _Suffix(10, exponent, Format.DECIMAL_SI) for text, exponent in _DECIMAL_SUFFIXES.items()},
    **{text: _Suffix(2, exponent, Format.BINARY_SI) for text, exponent in _BINARY_SUFFIXES.items()},
}


def _suffix(text: str) -> _Suffix:
    suffix = _SUFFIXES.get(text)
    if suffix is not None:
        return suffix
    match = _EXPONENT.fullmatch(text)
    if match is None or len(match[1]) > 12:
        raise ValueError(SUFFIX_WRONG)
    exponent = int(match[1])
    if exponent > _MAX_DIGITS:
        raise ValueError(SUFFIX_WRONG)
    return _Suffix(10, exponent, Format.DECIMAL_EXPONENT)


def _rounded_up(digits: int, exponent: int) -> int:
    """Return ``digits`` times ten to the ``exponent``, rounded up to an integer."""
    if exponent < -3 * _MAX_DIGITS:
        return 1 if digits else 0
    scale: int = 10 ** abs(exponent)
    return digits * scale if exponent >= 0 else -(-digits // scale)


@text_cache(4096, length_max=64)
def _canonical(text: str) -> str:
    return str(parse(text))


def canonical(value: str | float) -> str:
    """Return the canonical text of a quantity from a body, a string or a number. Raises ``ValueError``."""
    return _canonical(value.strip() if isinstance(value, str) else repr(value))


def read_back(text: str) -> str:
    """Return the text that a quantity of a body is read back as: canonical, or unchanged if it looks canonical enough.

    Upstream skips most conversions, so ``+5``, ``010`` and ``1E3`` stay. Raises ``ValueError``.
    """
    text = text.strip()
    quantity = parse(text)
    return text if quantity.looks_canonical else str(quantity)


def _looks_canonical(number: str, fraction: str, suffix: _Suffix) -> bool:
    """Report upstream's test: a short number (without leading zeros) that no larger suffix obviously divides."""
    if suffix.base == 2:
        digits_left = 14 - len(number) - suffix.exponent * 3 // 10
        return not fraction and digits_left >= 0 and int(number or "0") % 8 != 0
    scale = suffix.exponent - len(fraction)
    if len(number or "0") + len(fraction) > _MAX_INT64_DIGITS or scale < -9:
        return False
    return scale % 3 == 0 and number != "" and not (number + fraction).endswith("000")
