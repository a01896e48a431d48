"""Sorting in parts."""

from __future__ import annotations

import random

import pytest

from steersman.apimachinery.sorting import PART_ITEMS, sorted_in_parts
from steersman.apimachinery.workmeter import metered

COUNTS = (0, 1, PART_ITEMS, PART_ITEMS + 1, 3 * PART_ITEMS, 5 * PART_ITEMS + 7)


class Charges:
    def __init__(self) -> None:
        self.units: list[int] = []

    def spend(self, units: int) -> None:
        self.units.append(units)


@pytest.mark.parametrize("count", COUNTS)
def test_sorted_in_parts_equals_sorted(count: int) -> None:
    numbers = random.Random(count).choices(range(1000), k=count)
    assert sorted_in_parts(numbers) == sorted(numbers)


@pytest.mark.parametrize("count", COUNTS)
def test_sorted_in_parts_keeps_the_order_of_equal_keys(count: int) -> None:
    pairs = [{"key": number % 10, "position": number} for number in range(count)]
    random.Random(count).shuffle(pairs)
    assert sorted_in_parts(pairs, key=lambda pair: pair["key"]) == sorted(pairs, key=lambda pair: pair["key"])


def test_sorted_in_parts_charges_large_collections_in_small_amounts() -> None:
    charges = Charges()
    with metered(charges):
        sorted_in_parts({str(number) for number in range(20 * PART_ITEMS)})
    assert len(charges.units) > 20
    assert sum(charges.units) > 20 * PART_ITEMS
    small = Charges()
    with metered(small):
        sorted_in_parts(range(PART_ITEMS))
    assert small.units == []
