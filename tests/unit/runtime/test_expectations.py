import pytest

from steersman.asynckit.clock import FakeClock
from steersman.runtime.expectations import Expectations


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def expectations(clock):
    return Expectations(clock)


def test_satisfied_without_expectations(expectations):
    assert expectations.satisfied("ns/a")
    assert expectations.pending("ns/a") == (0, frozenset())


def test_creations_are_ticked_off_one_by_one(expectations):
    expectations.expect("ns/a", creations=2)
    expectations.creation_observed("ns/a")
    assert not expectations.satisfied("ns/a")
    expectations.creation_observed("ns/a")
    assert expectations.satisfied("ns/a")


def test_deletion_observed_twice_counts_once(expectations):
    expectations.expect("ns/a", deletions=["ns/p1", "ns/p2"])
    expectations.deletion_observed("ns/a", "ns/p1")
    expectations.deletion_observed("ns/a", "ns/p1")
    expectations.deletion_observed("ns/a", "ns/other")
    assert expectations.pending("ns/a") == (0, {"ns/p2"})
    expectations.deletion_observed("ns/a", "ns/p2")
    assert expectations.satisfied("ns/a")


def test_creations_that_failed_are_not_waited_for(expectations):
    expectations.expect("ns/a", creations=5)
    expectations.lower("ns/a", creations=5)
    assert expectations.satisfied("ns/a")


def test_expectations_can_be_raised(expectations):
    expectations.expect("ns/a", creations=1)
    expectations.raise_("ns/a", creations=1, deletions=["ns/p"])
    assert expectations.pending("ns/a") == (2, {"ns/p"})


def test_new_expectations_replace_old_ones(expectations):
    expectations.expect("ns/a", creations=3)
    expectations.expect("ns/a", deletions=["ns/p"])
    assert expectations.pending("ns/a") == (0, {"ns/p"})


async def test_expectations_expire_after_five_minutes(expectations, clock):
    expectations.expect("ns/a", creations=1)
    await clock.advance(299)
    assert not expectations.satisfied("ns/a")
    await clock.advance(expectations.seconds_to_expiry("ns/a"))
    assert expectations.satisfied("ns/a")
    assert expectations.seconds_to_expiry("ns/a") == 0


async def test_seconds_to_expiry_returns_the_remaining_time(expectations, clock):
    expectations.expect("ns/a", creations=1)
    await clock.advance(100)
    assert expectations.seconds_to_expiry("ns/a") == 200
    expectations.creation_observed("ns/a")
    assert expectations.seconds_to_expiry("ns/a") == 0


def test_delete_drops_expectations(expectations):
    expectations.expect("ns/a", creations=1)
    expectations.delete("ns/a")
    expectations.creation_observed("ns/a")
    expectations.deletion_observed("ns/a", "x")
    expectations.raise_("ns/a", creations=1)
    assert expectations.satisfied("ns/a")
