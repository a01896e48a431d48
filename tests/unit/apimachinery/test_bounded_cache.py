from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.bounded_cache import BoundedCache, Doorkeeper, digest_of
from steersman.apimachinery.cache_sizes import cache_sizes


def test_get_returns_the_cached_value() -> None:
    table = BoundedCache[str]()
    table.put(("a", 1), "yes")
    assert table.get(("a", 1)) == "yes"
    assert table.get(("a", 2)) is None


def test_put_clears_a_full_cache() -> None:
    table = BoundedCache[int](entries_max=2)
    for number in range(3):
        table.put(number, number)
    assert [table.get(number) for number in range(3)] == [None, None, 2]


def test_digest_of_distinguishes_types_of_numbers() -> None:
    assert len({digest_of({"a": value}) for value in (1, 1.0, True, "1")}) == 4


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=4))
def test_digest_of_is_equal_for_equal_trees(tree: dict[str, int]) -> None:
    assert digest_of(tree) == digest_of(dict(tree))


def test_put_bounds_a_named_cache_by_bytes() -> None:
    table = BoundedCache[int](bytes_max=10_000, name="bounded")
    for number in range(8):
        table.put(number, number, 1_100)
    assert cache_sizes()["bounded"] == 8 * 1_200
    table.put("one more", 1, 1_100)
    assert [table.get(number) for number in range(8)] == [None] * 8
    assert table.get("one more") == 1
    assert cache_sizes()["bounded"] == 1_200


def test_put_rejects_values_above_an_eighth_of_a_named_cache() -> None:
    table = BoundedCache[int](bytes_max=8_000, name="large")
    table.put("large", 1, 1_000)
    assert table.get("large") is None
    assert cache_sizes()["large"] == 0


def test_doorkeeper_admits_keys_from_their_second_occurrence():
    doorkeeper = Doorkeeper(entries_max=2)
    assert [doorkeeper.admits(key) for key in "aab"] == [False, True, False]
    assert not doorkeeper.admits("c")  # the set was full, and is cleared
    assert not doorkeeper.admits("a")
