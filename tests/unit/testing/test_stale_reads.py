"""Reads from a watch cache that lags behind."""

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.testing.stale_reads import LaggingRead, RevisionTimes, exact_query

LAG = 10.0


@pytest.fixture
async def times():
    """Commits 5 at 0 s, 6 at 20 s and 7 at 28 s; it is 30 s."""
    clock = FakeClock()
    revision_times = RevisionTimes(clock)
    for revision, seconds in ((5, 20.0), (6, 8.0), (7, 2.0)):
        revision_times.committed(revision)
        await clock.advance(seconds)
    return revision_times


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (b"", None),
        (b"resourceVersion=x", None),
        (b"resourceVersion=5&resourceVersionMatch=Exact", None),
        (b"resourceVersion=5&limit=1", None),
        (b"continue=abc&resourceVersion=0", None),
        (b"resourceVersion=0", LaggingRead(6)),
        (b"resourceVersion=0&limit=500", LaggingRead(6)),
        (b"resourceVersion=5", LaggingRead(6)),
        (b"resourceVersion=7", LaggingRead(6, 3.0, 7)),
        (b"resourceVersion=8", LaggingRead(6, 3.0, 8)),
    ],
)
async def test_read_with_a_resource_version_sees_the_state_of_the_lag(times, query, expected):
    assert times.read(query, LAG) == expected


async def test_read_waits_for_a_version_that_arrives_within_the_limit(times):
    assert times.read(b"resourceVersion=7", 4.0) == LaggingRead(7, 2.0)


async def test_state_before_the_first_known_commit_is_the_present_one(times):
    assert times.read(b"resourceVersion=0", 100.0) == LaggingRead(0)


def test_exact_query_keeps_selectors_and_drops_the_limit_of_any_version():
    query = exact_query(b"labelSelector=a%3Db&resourceVersion=0&limit=500", 6)
    assert query == b"labelSelector=a%3Db&resourceVersion=6&resourceVersionMatch=Exact"
