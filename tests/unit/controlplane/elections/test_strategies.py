"""The best candidate and the strategy, whatever the order."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from steersman.controlplane.elections.objects import OLDEST_EMULATION_VERSION, Candidate
from steersman.controlplane.elections.strategies import (
    StrategyConflict,
    ThirdPartyStrategy,
    Winner,
    choose,
    oldest_emulation_version,
)
from steersman.controlplane.elections.versions import parse_version

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def candidate(name, emulation="1.36.0", binary="1.36.0", *, strategy=OLDEST_EMULATION_VERSION, created=0):
    return Candidate(
        name=name,
        lease_name="lead",
        binary=parse_version(binary),
        emulation=parse_version(emulation),
        strategy=strategy,
        created=EPOCH + timedelta(seconds=created),
        renewed=EPOCH,
    )


def best(*candidates, holder=""):
    return choose(candidates, holder=holder)


def test_choose_prefers_the_oldest_emulation_version():
    assert best(candidate("a", "1.36.0", "1.36.0"), candidate("b", "1.35.0", "1.37.0")) == Winner("b")


def test_choose_breaks_ties_by_binary_version_then_creation():
    assert best(candidate("a", "1.35.0", "1.36.2"), candidate("b", "1.35.0", "1.36.1")) == Winner("b")
    assert best(candidate("a", created=5), candidate("b", created=4)) == Winner("b")


def test_choose_breaks_ties_by_holder_then_name():
    assert best(candidate("b"), candidate("a")) == Winner("a")
    assert best(candidate("b"), candidate("a"), holder="b") == Winner("b")
    assert best(candidate("b"), candidate("a", "1.35.0"), holder="b") == Winner("a")


def test_choose_uses_the_strategy_of_the_newest_binary():
    mine = candidate("a", "1.36.0", "1.37.0")
    other = candidate("b", "1.35.0", "1.36.0", strategy="example.com/other")
    assert best(mine, other) == Winner("b")
    assert best(candidate("a"), candidate("b", "1.35.0", "1.37.0", strategy="example.com/x")) == ThirdPartyStrategy(
        "example.com/x"
    )


def test_choose_ignores_strategies_of_older_binaries():
    """Upstream calls these a conflict or not, depending on which of them it sees first."""
    old = [candidate("a", binary="1.35.0"), candidate("b", binary="1.35.0", strategy="example.com/x")]
    assert best(*old, candidate("c", binary="1.36.0")) == Winner("a")


def test_choose_reports_a_conflict_of_the_newest_binaries():
    outcome = best(candidate("b", strategy="example.com/x"), candidate("a"), candidate("c"))
    assert outcome == StrategyConflict(((OLDEST_EMULATION_VERSION, "a"), ("example.com/x", "b")))


versions = st.sampled_from(["1.35.0", "1.36.0", "1.36.1", "1.37.0"])
some = st.lists(
    st.builds(
        candidate,
        st.sampled_from("abcdef"),
        versions,
        versions,
        strategy=st.sampled_from([OLDEST_EMULATION_VERSION, "example.com/x"]),
        created=st.integers(0, 2),
    ),
    min_size=1,
    unique_by=lambda one: one.name,
)


@given(some, st.sampled_from("abcdef"), st.randoms())
def test_choose_does_not_depend_on_the_order_of_candidates(candidates, holder, dice):
    shuffled = list(candidates)
    dice.shuffle(shuffled)
    assert choose(candidates, holder=holder) == choose(shuffled, holder=holder)


@given(some, st.sampled_from("abcdef"))
def test_choose_selects_the_best_in_every_subset_that_contains_it(candidates, holder):
    """Therefore missing acknowledgements can be examined one by one."""
    winner = oldest_emulation_version(candidates, holder=holder)
    part = [one for one in candidates if one is winner or one.created != EPOCH]
    assert oldest_emulation_version(part, holder=holder) == winner
