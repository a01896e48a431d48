from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steersman.storage.retention import Retention


def test_expired_is_zero_at_first():
    retention = Retention(retention_seconds=160, now=0, revision=5)
    assert retention.expired(now=159, revision=9) == 0


def test_expired_counts_existing_revisions_from_the_start():
    retention = Retention(retention_seconds=160, now=1000, revision=5)
    assert retention.expired(now=1159, revision=5) == 0
    assert retention.expired(now=1160, revision=5) == 5


def test_expired_returns_each_revision_after_its_retention_time():
    retention = Retention(retention_seconds=160, now=0, revision=0)
    for now in range(0, 100, 20):
        retention.expired(now=now, revision=now + 1)
    assert [retention.expired(now=now, revision=81) for now in (159, 160, 199, 200, 1000)] == [0, 1, 21, 41, 81]


@given(st.lists(st.tuples(st.floats(0, 50), st.integers(0, 3)), max_size=60))
def test_expired_never_returns_younger_revisions(steps):
    retention = Retention(retention_seconds=100, now=0, revision=0)
    now, revision, reached = 0.0, 0, {0: 0.0}
    for seconds, revisions in steps:
        now += seconds
        revision += revisions
        reached.setdefault(revision, now)
        expired = retention.expired(now=now, revision=revision)
        assert expired in reached
        assert expired == 0 or reached[expired] <= now - 100
