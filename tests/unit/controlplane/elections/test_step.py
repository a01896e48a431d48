"""What one step decides, and why."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman.controlplane.elections.objects import OLDEST_EMULATION_VERSION, Candidate, Lease
from steersman.controlplane.elections.step import Create, Prefer, Publish, Reason, Take, decide
from steersman.controlplane.elections.versions import parse_version

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
OURS = OLDEST_EMULATION_VERSION
FOREIGN = "example.com/mine"


def at(seconds):
    return None if seconds is None else NOW + timedelta(seconds=seconds)


def candidate(name, emulation="1.36.0", *, renewed=0.0, pinged=None, strategy=OURS, binary="1.36.0"):
    return Candidate(
        name=name,
        lease_name="lead",
        binary=parse_version(binary),
        emulation=parse_version(emulation),
        strategy=strategy,
        created=NOW - timedelta(hours=1),
        renewed=at(renewed),
        pinged=at(pinged),
    )


def lease(holder="a", *, renewed=0.0, preferred="", strategy=OURS, duration_seconds=15):
    return Lease(
        holder=holder,
        preferred=preferred,
        strategy=strategy,
        renewed=at(renewed),
        duration_seconds=duration_seconds,
    )


OLDER, SAME = candidate("older", "1.35.0"), candidate("a")
RAN_OUT = lease(renewed=-15.0)


# -- nobody holds it ---------------------------------------------------------------------------------------------------


def test_the_only_candidate_is_elected_at_once():
    decision = decide(None, [SAME], now=NOW)
    assert (decision.reason, decision.write, decision.ask) == (Reason.ELECTED, Create("a", OURS), ())


def test_without_candidates_nothing_happens_and_nothing_is_waited_for():
    for candidates in ([], [candidate("a", renewed=None)], [candidate("a", renewed=-1801)]):
        decision = decide(lease(""), candidates, now=NOW)
        assert (decision.reason, decision.write, decision.look_again) == (Reason.NO_CANDIDATES, None, None)


@pytest.mark.parametrize("free", [RAN_OUT, lease(""), lease("gone", renewed=None)])
def test_a_lease_that_ran_out_or_was_let_go_is_given_to_the_best(free):
    decision = decide(free, [SAME, OLDER], now=NOW)
    assert (decision.reason, decision.write) == (Reason.ELECTED, Take("older", OURS))


def test_a_lease_is_held_until_the_very_moment_it_runs_out():
    moment = NOW + timedelta(seconds=5)
    held = lease(duration_seconds=5, preferred="older")
    before = decide(held, [candidate("a", renewed=4), candidate("older", "1.35.0", renewed=4)], now=moment)
    assert before.reason == Reason.ELECTED
    just_before = decide(held, [candidate("older", "1.35.0", renewed=4)], now=moment - timedelta(microseconds=1))
    assert (just_before.write, just_before.look_again) == (None, moment)


def test_all_that_nobody_has_asked_are_asked_at_once():
    stale = [candidate(name, renewed=-60) for name in "abc"]
    decision = decide(None, stale, now=NOW)
    assert (decision.reason, decision.ask) == (Reason.ASKING, ("a", "b", "c"))
    assert decision.look_again == at(5)


def test_an_answer_that_could_change_the_outcome_is_waited_for():
    decision = decide(None, [SAME, candidate("older", "1.35.0", renewed=-60, pinged=-1)], now=NOW)
    assert (decision.reason, decision.write, decision.look_again) == (Reason.WAITING, None, at(4))


def test_an_answer_that_could_change_nothing_is_not_waited_for():
    """Upstream waits for all of them, five seconds for one that is dead."""
    dead = candidate("newer", "1.37.0", renewed=-60, pinged=-1, binary="1.37.0")
    assert decide(None, [SAME, dead], now=NOW).write == Create("a", OURS)


def test_one_that_could_bring_another_strategy_is_waited_for_though_it_would_not_win():
    newer = candidate("newer", "1.37.0", renewed=-60, pinged=-1, binary="1.37.0", strategy=FOREIGN)
    assert decide(None, [SAME, newer], now=NOW).reason == Reason.WAITING


def test_one_that_does_not_answer_is_passed_over_and_not_asked_again():
    silent = candidate("silent", "1.34.0", renewed=-60, pinged=-5)
    decision = decide(None, [silent, OLDER, SAME], now=NOW)
    assert (decision.write, decision.ask) == (Create("older", OURS), ())


def test_when_nobody_answers_all_are_asked_again_after_a_while():
    """Upstream ends the step with an error and never looks again."""
    silent = candidate("a", renewed=-60, pinged=-29)
    decision = decide(RAN_OUT, [silent], now=NOW)
    assert (decision.reason, decision.ask, decision.look_again) == (Reason.NOBODY_ANSWERS, (), at(1))
    assert decide(RAN_OUT, [silent], now=at(1)).ask == ("a",)


def test_the_holder_that_let_it_run_out_is_asked_before_somebody_else_gets_it():
    decision = decide(lease(renewed=-16), [candidate("a", renewed=-2), candidate("b")], now=NOW)
    assert (decision.reason, decision.ask, decision.write) == (Reason.ASKING, ("a",), None)


def test_the_holder_that_let_it_run_out_keeps_it_when_it_answers_and_is_the_best():
    decision = decide(RAN_OUT, [SAME], now=NOW)
    assert (decision.reason, decision.write, decision.look_again) == (Reason.HOLDER_LATE, None, at(5))


def test_the_holder_gets_it_back_when_the_preferred_one_did_not_come():
    """It was asked to go, so it does not renew by itself: without a new Lease nobody would ever lead."""
    gone = candidate("older", "1.35.0", renewed=-60, pinged=-5)
    decision = decide(lease(renewed=-15, preferred="older"), [SAME, gone], now=NOW)
    assert decision.write == Take("a", OURS)


def test_an_expired_lease_of_a_classic_election_is_told_the_strategy():
    assert decide(lease(renewed=-60, strategy=""), [SAME], now=NOW).write == Publish(OURS)


# -- somebody holds it -------------------------------------------------------------------------------------------------


def test_the_best_holder_is_left_alone_until_its_lease_would_run_out():
    decision = decide(lease(), [SAME, candidate("newer", "1.37.0")], now=NOW)
    assert (decision.reason, decision.write, decision.look_again) == (Reason.HOLDER_IS_BEST, None, at(15))


def test_a_candidate_as_good_as_the_holder_changes_nothing():
    assert decide(lease("b"), [SAME, candidate("b")], now=NOW).reason == Reason.HOLDER_IS_BEST


def test_a_better_candidate_becomes_preferred_when_all_have_answered():
    asked = decide(lease(), [candidate("a", renewed=-6), OLDER], now=NOW)
    assert (asked.reason, asked.write, asked.ask) == (Reason.ASKING, None, ("a",))
    waiting = decide(lease(), [candidate("a", renewed=-6, pinged=-1), OLDER], now=NOW)
    assert (waiting.reason, waiting.write, waiting.look_again) == (Reason.WAITING, None, at(4))
    assert decide(lease(), [SAME, OLDER], now=NOW).write == Prefer("older", OURS)


def test_a_classic_holder_that_is_no_candidate_is_asked_to_go():
    decision = decide(lease("someone", strategy=""), [SAME], now=NOW)
    assert (decision.reason, decision.write) == (Reason.PREFERRED, Prefer("a", OURS))


def test_the_preference_moves_on_to_a_still_better_one():
    oldest = candidate("oldest", "1.34.0")
    assert decide(lease(preferred="older"), [SAME, OLDER, oldest], now=NOW).write == Prefer("oldest", OURS)


def test_a_preferred_holder_is_asked_now_and_then_whether_it_is_still_there():
    pending = decide(lease(preferred="older"), [SAME, candidate("older", "1.35.0", renewed=-4)], now=NOW)
    assert (pending.reason, pending.ask, pending.look_again) == (Reason.HAND_OVER_PENDING, (), at(6))
    late = candidate("older", "1.35.0", renewed=-10)
    assert decide(lease(preferred="older"), [SAME, late], now=NOW).ask == ("older",)


@pytest.mark.parametrize("gone", [[], [candidate("older", "1.35.0", renewed=-60, pinged=-5)]])
def test_the_mark_goes_when_the_preferred_holder_is_gone(gone):
    """Upstream leaves it, the holder ends for nobody, and the Lease stays without one."""
    decision = decide(lease(preferred="older"), [SAME, *gone], now=NOW)
    assert (decision.reason, decision.write) == (Reason.NOT_PREFERRED, Prefer("", OURS))


def test_the_mark_goes_when_no_candidate_answers_at_all():
    gone = candidate("older", "1.35.0", renewed=-60, pinged=-5)
    assert decide(lease("x", preferred="older"), [gone], now=NOW).write == Prefer("", OURS)
    assert decide(lease("x"), [gone], now=NOW).write is None


def test_candidates_that_nobody_asked_for_long_are_asked_though_all_is_well():
    old = candidate("newer", "1.37.0", renewed=-15 * 60)
    decision = decide(lease(), [SAME, old], now=NOW)
    assert (decision.reason, decision.ask) == (Reason.HOLDER_IS_BEST, ("newer",))


# -- strategies --------------------------------------------------------------------------------------------------------


def test_a_foreign_strategy_gets_a_lease_without_a_holder():
    decision = decide(None, [candidate("a", strategy=FOREIGN)], now=NOW)
    assert (decision.reason, decision.write) == (Reason.STRATEGY_PUBLISHED, Create("", FOREIGN))


@pytest.mark.parametrize("holder", ["", "a"])
def test_a_foreign_strategy_is_published_and_otherwise_left_alone(holder):
    """Upstream stumbles over the Lease that has neither a holder nor, any more, time left."""
    candidates = [candidate("a", strategy=FOREIGN)]
    told = decide(lease(holder, renewed=-60), candidates, now=NOW)
    assert told.write == Publish(FOREIGN)
    done = decide(lease(holder, renewed=-60, strategy=FOREIGN), candidates, now=NOW)
    assert (done.reason, done.write) == (Reason.FOREIGN_STRATEGY, None)


def test_a_held_lease_is_not_touched_for_a_foreign_strategy():
    decision = decide(lease(), [candidate("a", strategy=FOREIGN)], now=NOW)
    assert (decision.reason, decision.write) == (Reason.FOREIGN_STRATEGY, None)


def test_a_lease_that_a_foreign_strategy_left_free_is_taken_when_ours_rules_again():
    assert decide(lease("", strategy=FOREIGN), [SAME], now=NOW).write == Take("a", OURS)


@pytest.mark.parametrize("there", [None, RAN_OUT, lease()])
def test_a_disagreement_on_the_strategy_is_told_and_changes_nothing(there):
    decision = decide(there, [SAME, candidate("b", strategy=FOREIGN)], now=NOW)
    assert (decision.reason, decision.write) == (Reason.STRATEGY_CONFLICT, None)
    assert decision.why == (
        "candidates of the newest binary version do not agree: a wants OldestEmulationVersion, b wants example.com/mine"
    )
