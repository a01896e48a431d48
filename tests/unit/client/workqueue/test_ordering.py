import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.client.workqueue.ordering import FAIR_TAKE, PriorityOrder


def drain(order):
    return [order.take()[0] for _ in range(len(order))]


def test_take_orders_equal_priorities_by_age():
    order = PriorityOrder()
    for key in "abca":
        order.add(key, 0)
    assert drain(order) == ["a", "b", "c"]


def test_take_prefers_higher_priorities():
    order = PriorityOrder()
    for key, priority in (("low", -1), ("high", 5), ("normal", 0)):
        order.add(key, priority)
    assert drain(order) == ["high", "normal", "low"]


def test_add_keeps_the_higher_priority():
    order = PriorityOrder()
    order.add("a", 0)
    order.add("b", 1)
    order.add("a", 2)
    order.add("a", 0)
    assert "a" in order
    assert order.take() == ("a", 2)
    assert order.take() == ("b", 1)


def test_take_raises_when_empty():
    with pytest.raises(IndexError):
        PriorityOrder().take()


@given(st.integers(0, 5), st.integers(1, 3))
def test_take_returns_low_priorities_in_bounded_time(older, per_take):
    order, takes = PriorityOrder(), 0
    for number in range(older):
        order.add(("older", number), 1)
    order.add("low", 0)
    fresh = iter(range(10_000))
    taken = None
    while taken != "low":
        for _ in range(per_take):
            order.add(next(fresh), 1)
        taken, _ = order.take()
        takes += 1
    assert takes <= FAIR_TAKE * (older + 1)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-2, 2))))
def test_take_returns_every_key_once(adds):
    order = PriorityOrder()
    for key, priority in adds:
        order.add(key, priority)
    out = drain(order)
    assert sorted(out) == sorted({key for key, _ in adds})
    assert len(order) == 0
