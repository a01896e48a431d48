import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.asynckit.backoff import Backoff, BackoffPolicy, exponential, jittered


def test_delays_double_up_to_the_maximum():
    backoff = Backoff(BackoffPolicy(0.1, 7.0))
    assert [backoff.next_seconds() for _ in range(8)] == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7.0])
    assert backoff.failures == 8


def test_reset_restarts_with_the_initial_delay():
    backoff = Backoff(BackoffPolicy(1, 8))
    backoff.next_seconds()
    backoff.next_seconds()
    backoff.reset()
    assert backoff.next_seconds() == 1


def test_exponential_of_many_failures_is_the_maximum():
    assert exponential(0.005, 100_000, 1000) == 1000


def test_backoff_with_jitter_requires_dice():
    with pytest.raises(ValueError, match="needs dice"):
        Backoff(BackoffPolicy(1, 2, jitter=0.5))


@given(st.floats(0.001, 1000), st.floats(0, 2), st.integers())
def test_jitter_lengthens_by_at_most_its_fraction(seconds, fraction, seed):
    assert seconds <= jittered(seconds, fraction, random.Random(seed)) <= seconds * (1 + fraction)


@given(st.integers())
def test_backoff_delays_stay_within_the_jitter(seed):
    backoff = Backoff(BackoffPolicy(1, 4, jitter=0.5), dice=random.Random(seed))
    waits = [backoff.next_seconds() for _ in range(4)]
    assert [low <= wait <= low * 1.5 for low, wait in zip((1, 2, 4, 4), waits, strict=True)] == [True] * 4
