"""Liveness of candidates."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman.controlplane.elections.liveness import call_roll
from steersman.controlplane.elections.objects import Candidate, Lease
from steersman.controlplane.elections.versions import ZERO

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ago(seconds):
    return None if seconds is None else NOW - timedelta(seconds=seconds)


def place(renewed, pinged=None, *, lease=None):
    one = Candidate(
        name="a", lease_name="l", binary=ZERO, emulation=ZERO, strategy="s", created=NOW,
        renewed=ago(renewed), pinged=ago(pinged),
    )  # fmt: skip
    roll = call_roll([one], lease, now=NOW)
    return next((name for name in ("fresh", "stale", "waiting", "silent") if getattr(roll, name)), "absent")


@pytest.mark.parametrize(
    ("renewed", "pinged", "expected"),
    [
        (None, None, "absent"),
        (None, 1, "absent"),
        (30 * 60, None, "stale"),
        (30 * 60 + 0.001, None, "absent"),
        (5, None, "fresh"),
        (5.001, None, "stale"),
        (-3600, None, "fresh"),
        (10, 4.999, "waiting"),
        (10, 5, "silent"),
        (2, 1, "waiting"),
        (4, 4, "fresh"),
        (3, 4, "fresh"),
        (100, 200, "stale"),
        (100, -10, "stale"),
    ],
)
def test_call_roll_classifies_a_candidate(renewed, pinged, expected):
    """Seconds since it renewed and since it was asked."""
    assert place(renewed, pinged) == expected


def test_call_roll_treats_the_holder_of_an_expired_lease_as_stale():
    lease = Lease(holder="a", renewed=ago(6), duration_seconds=5)
    assert place(2, lease=lease) == "stale"
    assert place(0.5, lease=lease) == "fresh"


def test_to_refresh_returns_candidates_before_they_become_invalid():
    ones = [
        Candidate(name=n, lease_name="l", binary=ZERO, emulation=ZERO, strategy="s", created=NOW, renewed=ago(minutes))
        for n, minutes in (("a", 15 * 60), ("b", 15 * 60 - 30))
    ]
    roll = call_roll(ones, None, now=NOW)
    assert [one.name for one in roll.to_refresh(NOW)] == ["a"]
    assert roll.next_change(NOW) == NOW + timedelta(seconds=30)
