"""Quantities: reading, canonical text, arithmetic."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery import quantity
from steersman.apimachinery.quantity import Format, Quantity, canonical, parse

TEXTS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**15),
    st.sampled_from(["", ".5", ".", ".001", ".000000001"]),
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E-3", "e0"]),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "0"),
        ("0Ki", "0"),
        ("-0", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("01", "1"),
        ("100m", "100m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("1.", "1"),
        ("1.G", "1G"),
        ("0.5Gi", "512Mi"),
        ("1.5Gi", "1536Mi"),
        ("1000", "1k"),
        ("1000000", "1M"),
        ("1500000", "1500k"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("1Ki", "1Ki"),
        ("1000Ki", "1000Ki"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        ("0.0001Ki", "102400u"),
        ("1e3", "1e3"),
        ("12e6", "12e6"),
        ("1e4", "10e3"),
        ("1E2", "100"),
        ("1e-3", "1e-3"),
        ("100E", "100E"),
        ("1000E", "1000E"),
        ("1e21", "1e21"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("1.0000000001", "1000000001n"),
        ("-1.0000000001", "-1000000001n"),
        ("1e-20", "1e-9"),
        ("8Ei", "9223372036854775807"),
        ("-500m", "-500m"),
        ("1E", "1E"),
        ("m", "0"),
        (".", "0"),
        ("-", "0"),
    ],
)
def test_parse_returns_the_canonical_text(text: str, expected: str) -> None:
    assert canonical(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(1000000, "1M"), (0.5, "500m"), (1e22, "10e21"), (0, "0"), (" 1 ", "1")]
)
def test_canonical_of_values_in_bodies(value: str | float, expected: str) -> None:
    assert canonical(value) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", quantity.FORMAT_WRONG),
        ("many", quantity.FORMAT_WRONG),
        ("1.2.3", quantity.FORMAT_WRONG),
        ("1 Gi", quantity.FORMAT_WRONG),
        ("--1", quantity.SUFFIX_WRONG),
        ("1Gi5x", quantity.FORMAT_WRONG),
        ("NaN", quantity.FORMAT_WRONG),
        ("٣", quantity.FORMAT_WRONG),
        ("1GI", quantity.FORMAT_WRONG),
        ("1MM", quantity.SUFFIX_WRONG),
        ("1e", quantity.SUFFIX_WRONG),
        ("1K", quantity.SUFFIX_WRONG),
        ("1mi", quantity.SUFFIX_WRONG),
        ("1e9999", quantity.SUFFIX_WRONG),
        ("1" * 2000, quantity.NUMBER_WRONG),
    ],
)
def test_parse_rejects_malformed_quantities(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse(text)
    assert str(caught.value) == message


@given(TEXTS)
def test_canonical_is_idempotent_and_keeps_the_amount(text: str) -> None:
    amount = parse(text)
    assert parse(str(amount)) == amount
    assert canonical(str(amount)) == str(amount)


@given(st.integers(-(10**20), 10**20), st.integers(-(10**20), 10**20))
def test_add_is_exact(left: int, right: int) -> None:
    total = Quantity(left) + Quantity(right)
    assert Decimal(total.nanos) == Decimal(left) + Decimal(right)
    assert total - Quantity(right) == Quantity(left)
    assert (Quantity(left) < Quantity(right)) is (left < right)


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        ("1Gi", "1G", "2073741824"),
        ("0", "1Gi", "1Gi"),
        ("1G", "1Gi", "2073741824"),
        ("100m", "900m", "1"),
        ("512Mi", "512Mi", "1Gi"),
    ],
)
def test_add_keeps_the_suffix_family_of_the_first_operand(left: str, right: str, total: str) -> None:
    assert str(parse(left) + parse(right)) == total


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [("1500m", 2, 1500), ("1", 1, 1000), ("1n", 1, 1), ("-1500m", -1, -1500), ("1Ki", 1024, 1024000)],
)
def test_rounding_is_up(text: str, whole: int, milli: int) -> None:
    assert (int(parse(text)), parse(text).milli) == (whole, milli)


def test_quantities_of_equal_amounts_are_equal() -> None:
    assert parse("1") == parse("1000m") == parse("1e0")
    assert len({parse("1Ki"), parse("1024")}) == 1
    assert parse("1") >= parse("999m") > parse("-5")
    assert not parse("0")
    assert parse("1n")
    assert -parse("1Ki") == parse("-1Ki")


def test_quantity_of_numbers() -> None:
    assert str(Quantity.of(2048, Format.BINARY_SI)) == "2Ki"
    assert str(Quantity.of_milli(1500)) == "1500m"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+5", "+5"),
        ("010", "010"),
        ("1E3", "1E3"),
        ("1.500", "1.500"),
        (" 12Mi ", "12Mi"),
        ("1024Mi", "1Gi"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1000000", "1M"),
        ("0.5", "500m"),
        ("0.5Gi", "512Mi"),
        ("1e4", "10e3"),
        ("1234567890123456789000", "1234567890123456789k"),
        ("000", "0"),
        ("0", "0"),
        ("0Ki", "0"),
        ("9Ei", "9223372036854775807"),
        ("0.1n", "1n"),
    ],
)
def test_read_back_keeps_text_that_looks_canonical(text: str, expected: str) -> None:
    assert quantity.read_back(text) == expected


@given(TEXTS)
def test_read_back_keeps_the_amount(text: str) -> None:
    assert parse(quantity.read_back(text)) == parse(text)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", (0, 0)),
        ("00", (0, 0)),
        ("-1.50", (-150, -2)),
        ("1000m", (1000, -3)),
        ("5k", (5, 3)),
        ("1e3", (1, 3)),
        ("1Ti", (2**40, 0)),
        ("1Pi", None),
        ("1.5Gi", None),
        ("1234567890123456789", None),
        ("0.0000000001", None),
    ],
)
def test_int64_amount_is_none_for_decimals(text, amount):
    assert quantity.int64_amount(text) == amount


def test_int64_amounts_are_integers_without_a_negative_scale():
    assert quantity.Int64Amount(1000, -3).integer is None
    assert quantity.Int64Amount(5, 3).integer == 5000
    assert quantity.Int64Amount(10, 18).integer is None
    assert quantity.Int64Amount(5, 3).plus(quantity.Int64Amount(1, 0)) == (5001, 0)
    assert quantity.Int64Amount(0, -3).plus(quantity.Int64Amount(1, 0)) == (1, 0)
    assert quantity.Int64Amount(9, 18).plus(quantity.Int64Amount(1, -3)) is None
