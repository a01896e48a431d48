"""Candidates that released a Lease."""

from datetime import UTC, datetime, timedelta

from steersman.controlplane.elections.departures import Departures
from steersman.controlplane.elections.objects import Candidate, Lease
from steersman.controlplane.elections.versions import ZERO

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds):
    return NOW + timedelta(seconds=seconds)


def candidates(**renewed):
    return {
        name: Candidate(
            name=name, lease_name="l", binary=ZERO, emulation=ZERO, strategy="s", created=NOW, renewed=at(seconds)
        )
        for name, seconds in renewed.items()
    }


def held(name):
    return Lease(holder=name, renewed=NOW, duration_seconds=15)


def test_holder_that_released_the_lease_is_departed_until_it_renews():
    departures, both = Departures(), candidates(a=-60, b=-60)
    assert departures.update(held("a"), both, now=NOW) == frozenset()
    assert departures.update(Lease(renewed=at(1)), both, now=at(1)) == {"a"}
    assert departures.update(held("b"), both, now=at(2)) == {"a"}
    assert departures.update(Lease(renewed=at(3)), both, now=at(3)) == {"a", "b"}
    assert departures.update(Lease(renewed=at(3)), candidates(a=4, b=-60), now=at(4)) == {"b"}


def test_deleted_candidate_is_not_departed():
    departures = Departures()
    departures.update(held("a"), candidates(a=0), now=NOW)
    assert departures.update(Lease(), candidates(b=0), now=at(1)) == frozenset()
    assert departures.update(Lease(), candidates(a=0), now=at(2)) == frozenset()


def test_reassigned_or_deleted_lease_is_not_a_departure():
    departures = Departures()
    departures.update(held("a"), candidates(a=0, b=0), now=NOW)
    assert departures.update(held("b"), candidates(a=0, b=0), now=at(1)) == frozenset()
    assert departures.update(None, candidates(a=0, b=0), now=at(2)) == frozenset()
