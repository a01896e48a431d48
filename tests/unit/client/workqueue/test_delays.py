from hypothesis import given
from hypothesis import strategies as st

from steersman.client.workqueue.delays import DelayHeap


def test_add_keeps_the_earlier_time():
    heap = DelayHeap()
    heap.add("a", 5, 0)
    heap.add("a", 2, 0)
    heap.add("a", 9, 0)
    assert heap.next_due == 2
    assert heap.pop_due(10) == [("a", 0)]
    assert heap.next_due is None


def test_add_keeps_the_higher_priority():
    heap = DelayHeap()
    heap.add("a", 2, 1)
    heap.add("a", 5, 3)
    heap.add("b", 5, 3)
    heap.add("b", 2, 1)
    assert heap.pop_due(5) == [("a", 3), ("b", 3)]


def test_pop_due_returns_due_keys_in_order():
    heap = DelayHeap()
    for key, due in (("c", 3), ("a", 1), ("b", 1)):
        heap.add(key, due, 0)
    assert heap.pop_due(0.5) == []
    assert heap.pop_due(1) == [("a", 0), ("b", 0)]
    assert len(heap) == 1


def test_clear_removes_all_keys():
    heap = DelayHeap()
    heap.add("a", 1, 0)
    heap.clear()
    assert heap.next_due is None
    assert len(heap) == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20))))
def test_each_key_is_due_at_its_earliest_time(adds):
    heap = DelayHeap()
    for key, due in adds:
        heap.add(key, due, 0)
    by_key = {key: now for now in range(21) for key, _ in heap.pop_due(now)}
    assert by_key == {key: min(due for other, due in adds if other == key) for key, _ in adds}
