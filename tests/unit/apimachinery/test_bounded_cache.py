from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.bounded_cache import BoundedCache, Doorkeeper, digest_of
from steersman.apimachinery.cache_sizes import cache_sizes


def test_what_was_put_is_found() -> None:
    table = BoundedCache[str]()
    table.put(("a", 1), "yes")
    assert table.get(("a", 1)) == "yes"
    assert table.get(("a", 2)) is None


def test_a_full_table_forgets_everything_and_goes_on() -> None:
    table = BoundedCache[int](entries_max=2)
    for number in range(3):
        table.put(number, number)
    assert [table.get(number) for number in range(3)] == [None, None, 2]


def test_numbers_of_different_types_have_different_digests() -> None:
    assert len({digest_of({"a": value}) for value in (1, 1.0, True, "1")}) == 4


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=4))
def test_equal_trees_in_equal_order_share_a_digest(tree: dict[str, int]) -> None:
    assert digest_of(tree) == digest_of(dict(tree))


def test_a_table_with_a_name_is_bounded_by_bytes() -> None:
    table = BoundedCache[int](bytes_max=10_000, name="bounded")
    for number in range(8):
        table.put(number, number, 1_100)
    assert cache_sizes()["bounded"] == 8 * 1_200
    table.put("one more", 1, 1_100)
    assert [table.get(number) for number in range(8)] == [None] * 8
    assert table.get("one more") == 1
    assert cache_sizes()["bounded"] == 1_200


def test_a_table_with_a_name_keeps_nothing_that_would_fill_an_eighth_of_it() -> None:
    table = BoundedCache[int](bytes_max=8_000, name="large")
    table.put("large", 1, 1_000)
    assert table.get("large") is None
    assert cache_sizes()["large"] == 0


def test_doorkeeper_admits_keys_that_come_again():
    doorkeeper = Doorkeeper(entries_max=2)
    assert [doorkeeper.admits(key) for key in "aab"] == [False, True, False]
    assert not doorkeeper.admits("c")  # the set was full, and is cleared
    assert not doorkeeper.admits("a")
