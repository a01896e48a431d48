from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.remembering import Remembered, digest_of


def test_what_was_put_is_found() -> None:
    table = Remembered[str]()
    table.put(("a", 1), "yes")
    assert table.get(("a", 1)) == "yes"
    assert table.get(("a", 2)) is None


def test_a_full_table_forgets_everything_and_goes_on() -> None:
    table = Remembered[int](entries_max=2)
    for number in range(3):
        table.put(number, number)
    assert [table.get(number) for number in range(3)] == [None, None, 2]


def test_numbers_of_different_types_have_different_digests() -> None:
    assert len({digest_of({"a": value}) for value in (1, 1.0, True, "1")}) == 4


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=4))
def test_equal_trees_in_equal_order_share_a_digest(tree: dict[str, int]) -> None:
    assert digest_of(tree) == digest_of(dict(tree))
