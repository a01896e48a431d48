"""Division of seats among levels, and demand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.flowcontrol.shares import Limits, SeatClaim, SeatDemand, allocate, limits_of


def test_seats_are_divided_by_shares_and_bounded_by_lending_and_borrowing():
    specs = {
        "exempt": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0}},
        "a": {"limited": {"nominalConcurrencyShares": 30, "lendablePercent": 50}},
        "b": {"limited": {"nominalConcurrencyShares": 10, "lendablePercent": 0, "borrowingLimitPercent": 20}},
    }
    assert limits_of(specs, total=600) == {
        "exempt": Limits(0, 0, 600),
        "a": Limits(450, 225, 1050),
        "b": Limits(150, 150, 180),
    }


def test_levels_without_shares_have_no_seats():
    assert limits_of({"a": {}}, total=10) == {"a": Limits(0, 0, 10)}


@pytest.mark.parametrize(
    ("claims", "seats", "proportion"),
    [
        ([SeatClaim(0, 100, 30), SeatClaim(0, 100, 10)], [75, 25], 2.5),
        ([SeatClaim(0, 100, 300), SeatClaim(0, 100, 100)], [75, 25], 0.25),
        ([SeatClaim(50, 100, 10), SeatClaim(0, 100, 100)], [50, 50], 0.5),
        ([SeatClaim(0, 20, 100), SeatClaim(0, 100, 100)], [20, 80], 0.8),
    ],
)
def test_levels_get_the_same_proportion_of_their_targets(claims, seats, proportion):
    allocated, fair = allocate(claims, total=100)
    assert allocated == pytest.approx(seats)
    assert fair == pytest.approx(proportion)


CLAIMS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 100)), min_size=1, max_size=8)


@given(CLAIMS, st.integers(0, 400))
def test_allocation_respects_bounds_and_sum(parts, total):
    claims = [SeatClaim(low, low + more, max(low, want)) for low, more, want in parts]
    allocated, _ = allocate(claims, total=total)
    assert all(claim.lower <= seats <= claim.upper for claim, seats in zip(claims, allocated, strict=True))
    reachable = min(max(total, sum(claim.lower for claim in claims)), sum(claim.upper for claim in claims))
    assert sum(allocated) == pytest.approx(reachable, abs=1e-3)


def test_demand_is_weighted_by_time():
    demand = SeatDemand(0.0)
    demand.add(4, 5.0)
    demand.add(-2, 10.0)
    assert demand.end_period(10.0) == 4
    assert (demand.average, demand.deviation) == (2.0, 2.0)
    assert demand.smoothed == 4.0
    assert (demand.peak, demand.end_period(20.0)) == (2, 2)
    assert (demand.average, demand.deviation) == (2.0, 0.0)
    assert demand.smoothed == pytest.approx(0.977 * 4 + 0.023 * 2)


def test_empty_period_keeps_the_average():
    demand = SeatDemand(0.0)
    demand.add(3, 0.0)
    assert demand.end_period(0.0) == 3
    assert demand.average == 0.0
