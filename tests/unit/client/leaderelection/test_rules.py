from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.client.leaderelection.record import LeaderElectionRecord
from steersman.client.leaderelection.rules import (
    GiveUp,
    Timing,
    View,
    Wait,
    Write,
    decide,
    observed,
    overtaken,
    released,
    stepped_down,
    written,
)

THEN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
TIMING = Timing()
THEIRS = LeaderElectionRecord("them", 15, THEN, THEN, transitions=4)
OURS = LeaderElectionRecord("us", 15, THEN, THEN, transitions=4)


def decided(view, *, now=100.0, **options):
    return decide(view, identity="us", timing=TIMING, now=now, wall_time=NOW, **options)


@pytest.mark.parametrize(
    ("periods", "message"),
    [
        ((10, 10, 2), "leaseDuration must be greater than renewDeadline"),
        ((15, 2.4, 2), r"renewDeadline must be greater than retryPeriod\*JitterFactor"),
        ((0, -1, -2), "leaseDuration must be greater than zero"),
        ((1, 0, -2), "renewDeadline must be greater than zero"),
        ((2, 1, 0), "retryPeriod must be greater than zero"),
    ],
)
def test_timing_rejects_inconsistent_periods_with_upstreams_messages(periods, message):
    with pytest.raises(ValueError, match=message):
        Timing(*periods)


def test_decide_creates_a_missing_lock():
    assert decided(View()) == Write(LeaderElectionRecord("us", 15, NOW, NOW), create=True)


def test_decide_waits_for_a_lock_held_by_another():
    assert decided(View(THEIRS, changed_at=90)) == Wait(until=105)


def test_decide_measures_expiry_from_the_last_observed_change():
    stale = replace(THEIRS, renewed_at=datetime(2090, 1, 1, tzinfo=UTC))
    assert isinstance(decided(View(stale, changed_at=85.1)), Wait)
    assert decided(View(stale, changed_at=85)) == Write(LeaderElectionRecord("us", 15, NOW, NOW, transitions=5))


def test_decide_uses_the_lease_duration_of_the_record():
    assert decided(View(replace(THEIRS, lease_duration_seconds=60), changed_at=90)) == Wait(until=150)


def test_decide_acquires_a_released_lock_and_counts_the_transition():
    assert decided(View(replace(THEIRS, holder=""), changed_at=100)) == Write(
        LeaderElectionRecord("us", 15, NOW, NOW, transitions=5)
    )


def test_decide_keeps_a_lock_with_the_own_identity():
    assert decided(View(OURS, changed_at=0)) == Write(LeaderElectionRecord("us", 15, THEN, NOW, transitions=4))


def test_decide_renews_as_leader():
    view = written(OURS, timing=TIMING, sent_at=95, now=99)
    assert decided(view) == Write(LeaderElectionRecord("us", 15, THEN, NOW, transitions=4))


def test_written_counts_the_deadline_from_the_time_of_sending():
    view = written(OURS, timing=TIMING, sent_at=95, now=99)
    assert view.leads(104.9)
    assert not view.leads(105)
    assert decided(view, now=105) == GiveUp("the lease was not renewed within the renew deadline")


def test_observed_ends_leadership_for_another_holder():
    view = observed(written(OURS, timing=TIMING, sent_at=95, now=95), THEIRS, identity="us", now=100)
    assert view == View(THEIRS, 100, None)


def test_overtaken_extends_leadership_only_while_holding_the_lock():
    newer = replace(OURS, preferred_holder="them")
    assert overtaken(View(newer, 97), identity="us", timing=TIMING, sent_at=95) == View(newer, 97, 105)
    assert overtaken(View(THEIRS, 97), identity="us", timing=TIMING, sent_at=95) == View(THEIRS, 97)
    assert overtaken(View(None, 97), identity="us", timing=TIMING, sent_at=95) == View(None, 97)


def test_decide_recreates_a_deleted_lock_as_leader():
    view = observed(written(OURS, timing=TIMING, sent_at=95, now=95), None, identity="us", now=100)
    assert decided(view) == Write(LeaderElectionRecord("us", 15, NOW, NOW), create=True)


def test_observed_ignores_an_unchanged_record():
    view = View(THEIRS, changed_at=90)
    assert observed(view, THEIRS, identity="us", now=100) is view


def test_stepped_down_keeps_the_record():
    view = written(OURS, timing=TIMING, sent_at=95, now=95)
    assert stepped_down(view) == View(OURS, 95, None)


def test_released_keeps_the_transitions():
    assert released(OURS, wall_time=NOW) == LeaderElectionRecord("", 1, NOW, NOW, transitions=4)


def test_lease_duration_is_rounded_up_to_whole_seconds():
    timing = Timing(1.5, 1.2, 0.5)
    action = decide(View(), identity="us", timing=timing, now=0, wall_time=NOW)
    assert action.record.lease_duration_seconds == 2


COORDINATED = LeaderElectionRecord("us", 5, None, THEN, strategy="OldestEmulationVersion")


@pytest.mark.parametrize(
    "record",
    [
        None,
        replace(COORDINATED, holder=""),
        replace(COORDINATED, holder="them"),
        replace(COORDINATED, preferred_holder="them"),
    ],
    ids=["none", "free", "theirs", "theirs-soon"],
)
def test_decide_never_acquires_a_lock_when_coordinated(record):
    assert decided(View(record, changed_at=99), coordinated=True) == Wait(None)


def test_decide_takes_an_assigned_lock_and_keeps_the_strategy_when_coordinated():
    taken = LeaderElectionRecord("us", 15, NOW, NOW, strategy="OldestEmulationVersion")
    assert decided(View(COORDINATED, changed_at=99), coordinated=True) == Write(taken)


def test_decide_ignores_an_expired_assignment_when_coordinated():
    assert decided(View(COORDINATED, changed_at=95), coordinated=True) == Wait(None)


def test_decide_yields_to_the_preferred_holder_and_renews_until_work_has_ended():
    record = replace(COORDINATED, preferred_holder="them", acquired_at=THEN)
    view = written(record, timing=TIMING, sent_at=99, now=99)
    assert decided(view, coordinated=True) == GiveUp("them is preferred", yields=True)
    assert decided(view, coordinated=True, ending=True) == Write(
        LeaderElectionRecord("us", 15, THEN, NOW, strategy="OldestEmulationVersion", preferred_holder="them")
    )
    assert decided(view).record.preferred_holder == ""  # a classic contender knows nothing of it


def test_decide_renews_when_the_holder_is_preferred():
    view = written(replace(COORDINATED, preferred_holder="us"), timing=TIMING, sent_at=99, now=99)
    assert isinstance(decided(view, coordinated=True), Write)


def test_decide_does_not_create_a_lock_when_coordinated():
    view = observed(written(COORDINATED, timing=TIMING, sent_at=99, now=99), None, identity="us", now=100)
    assert decided(view, coordinated=True) == GiveUp("the lease is gone")


def test_released_keeps_the_preferred_holder():
    free = released(replace(COORDINATED, preferred_holder="them"), wall_time=NOW)
    assert (free.holder, free.preferred_holder, free.strategy) == ("", "them", "OldestEmulationVersion")


RECORDS = st.builds(
    LeaderElectionRecord,
    holder=st.sampled_from(["", "us", "them"]),
    lease_duration_seconds=st.integers(1, 60),
    acquired_at=st.sampled_from([None, THEN]),
    renewed_at=st.sampled_from([None, THEN, NOW]),
    transitions=st.integers(0, 5),
    strategy=st.sampled_from(["", "OldestEmulationVersion"]),
    preferred_holder=st.sampled_from(["", "us", "them"]),
)
VIEWS = st.builds(View, st.none() | RECORDS, st.floats(0, 200), st.none() | st.floats(0, 200))


@given(VIEWS, st.floats(0, 300), st.booleans(), st.booleans())
def test_decide_never_writes_while_another_may_lead(view, now, coordinated, ending):
    """A contender that writes leads by its own clock, or the lock is missing, released, its own or expired."""
    action = decided(view, now=now, coordinated=coordinated, ending=ending)
    record = view.record
    may = (
        view.leads(now)
        or (record is None and not coordinated)
        or (record is not None and record.holder == "us")
        or (record is not None and not coordinated and (not record.holder or now >= view.changed_at + record.lease_duration_seconds))
    )  # fmt: skip
    assert may or not isinstance(action, Write)
    assert view.leads_until is None or view.leads(now) or isinstance(action, GiveUp)


@given(VIEWS, st.floats(0, 300))
def test_decide_writes_the_own_identity_and_counts_transitions(view, now):
    action = decided(view, now=now)
    written_record = getattr(action, "record", None)
    retained = view.record is not None and view.record.holder == "us"
    before = view.record.transitions if view.record is not None else -1
    expected = None if written_record is None else ("us", before if retained else before + 1)
    assert expected == (written_record and (written_record.holder, written_record.transitions))
