from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.client.leaderelection.record import Record
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
THEIRS = Record("them", 15, THEN, THEN, transitions=4)
OURS = Record("us", 15, THEN, THEN, transitions=4)


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
def test_periods_that_cannot_work_are_refused_in_upstreams_words(periods, message):
    with pytest.raises(ValueError, match=message):
        Timing(*periods)


def test_without_a_lock_one_is_made():
    assert decided(View()) == Write(Record("us", 15, NOW, NOW), create=True)


def test_a_lock_that_another_holds_is_waited_for():
    assert decided(View(THEIRS, changed_at=90)) == Wait(until=105)


def test_it_expires_by_when_its_last_change_was_seen_whatever_its_times_say():
    stale = replace(THEIRS, renewed_at=datetime(2090, 1, 1, tzinfo=UTC))
    assert isinstance(decided(View(stale, changed_at=85.1)), Wait)
    assert decided(View(stale, changed_at=85)) == Write(Record("us", 15, NOW, NOW, transitions=5))


def test_the_duration_in_the_lock_counts_not_our_own():
    assert decided(View(replace(THEIRS, lease_duration_seconds=60), changed_at=90)) == Wait(until=150)


def test_a_free_lock_is_taken_at_once_and_the_change_is_counted():
    assert decided(View(replace(THEIRS, holder=""), changed_at=100)) == Write(Record("us", 15, NOW, NOW, transitions=5))


def test_a_lock_that_we_hold_already_is_kept():
    assert decided(View(OURS, changed_at=0)) == Write(Record("us", 15, THEN, NOW, transitions=4))


def test_a_leader_renews():
    view = written(OURS, timing=TIMING, sent_at=95, now=99)
    assert decided(view) == Write(Record("us", 15, THEN, NOW, transitions=4))


def test_a_leader_counts_its_deadline_from_when_it_sent_the_renewal():
    view = written(OURS, timing=TIMING, sent_at=95, now=99)
    assert view.leads(104.9)
    assert not view.leads(105)
    assert decided(view, now=105) == GiveUp("the lease was not renewed within the renew deadline")


def test_a_leader_that_sees_another_holder_leads_no_more():
    view = observed(written(OURS, timing=TIMING, sent_at=95, now=95), THEIRS, identity="us", now=100)
    assert view == View(THEIRS, 100, None)


def test_a_renewal_whose_answer_was_overtaken_counts_only_while_the_lock_is_ours():
    newer = replace(OURS, preferred_holder="them")
    assert overtaken(View(newer, 97), identity="us", timing=TIMING, sent_at=95) == View(newer, 97, 105)
    assert overtaken(View(THEIRS, 97), identity="us", timing=TIMING, sent_at=95) == View(THEIRS, 97)
    assert overtaken(View(None, 97), identity="us", timing=TIMING, sent_at=95) == View(None, 97)


def test_a_leader_whose_lock_is_gone_makes_it_anew():
    view = observed(written(OURS, timing=TIMING, sent_at=95, now=95), None, identity="us", now=100)
    assert decided(view) == Write(Record("us", 15, NOW, NOW), create=True)


def test_seeing_the_same_again_is_no_change():
    view = View(THEIRS, changed_at=90)
    assert observed(view, THEIRS, identity="us", now=100) is view


def test_stepping_down_forgets_only_leadership():
    view = written(OURS, timing=TIMING, sent_at=95, now=95)
    assert stepped_down(view) == View(OURS, 95, None)


def test_a_released_lock_keeps_its_count():
    assert released(OURS, wall_time=NOW) == Record("", 1, NOW, NOW, transitions=4)


def test_a_duration_is_rounded_up_to_whole_seconds():
    timing = Timing(1.5, 1.2, 0.5)
    action = decide(View(), identity="us", timing=timing, now=0, wall_time=NOW)
    assert action.record.lease_duration_seconds == 2


COORDINATED = Record("us", 5, None, THEN, strategy="OldestEmulationVersion")


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
def test_in_a_coordinated_election_a_lock_is_never_taken(record):
    assert decided(View(record, changed_at=99), coordinated=True) == Wait(None)


def test_who_was_chosen_takes_the_lock_and_keeps_the_strategy():
    taken = Record("us", 15, NOW, NOW, strategy="OldestEmulationVersion")
    assert decided(View(COORDINATED, changed_at=99), coordinated=True) == Write(taken)


def test_who_was_chosen_too_long_ago_does_not():
    assert decided(View(COORDINATED, changed_at=95), coordinated=True) == Wait(None)


def test_a_holder_yields_to_the_one_that_is_preferred_and_keeps_the_lock_until_work_has_ended():
    record = replace(COORDINATED, preferred_holder="them", acquired_at=THEN)
    view = written(record, timing=TIMING, sent_at=99, now=99)
    assert decided(view, coordinated=True) == GiveUp("them is preferred", yields=True)
    assert decided(view, coordinated=True, ending=True) == Write(
        Record("us", 15, THEN, NOW, strategy="OldestEmulationVersion", preferred_holder="them")
    )
    assert decided(view).record.preferred_holder == ""  # a classic contender knows nothing of it


def test_a_holder_that_is_itself_preferred_stays():
    view = written(replace(COORDINATED, preferred_holder="us"), timing=TIMING, sent_at=99, now=99)
    assert isinstance(decided(view, coordinated=True), Write)


def test_a_holder_whose_lock_is_gone_is_not_to_make_one():
    view = observed(written(COORDINATED, timing=TIMING, sent_at=99, now=99), None, identity="us", now=100)
    assert decided(view, coordinated=True) == GiveUp("the lease is gone")


def test_releasing_keeps_who_is_preferred():
    free = released(replace(COORDINATED, preferred_holder="them"), wall_time=NOW)
    assert (free.holder, free.preferred_holder, free.strategy) == ("", "them", "OldestEmulationVersion")


RECORDS = st.builds(
    Record,
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
def test_nobody_writes_while_another_may_lead(view, now, coordinated, ending):
    """Whoever writes leads by its own clock, or found the lock free, its own, gone or expired."""
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
def test_what_is_written_names_us_and_counts_changes_of_holder(view, now):
    action = decided(view, now=now)
    written_record = getattr(action, "record", None)
    kept = view.record is not None and view.record.holder == "us"
    before = view.record.transitions if view.record is not None else -1
    expected = None if written_record is None else ("us", before if kept else before + 1)
    assert expected == (written_record and (written_record.holder, written_record.transitions))
