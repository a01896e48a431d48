"""Seats and queues of one priority level."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.flowcontrol.counts import FlowCounts
from steersman.apiserver.flowcontrol.levels import (
    CONCURRENCY_LIMIT,
    QUEUE_FULL,
    PriorityLevel,
    RetryAfter,
    Waiting,
)
from steersman.apiserver.flowcontrol.shares import Limits
from steersman.apiserver.flowcontrol.shuffle_sharding import flow_hash


def queuing(queues: int, hand: int, length: int) -> dict:
    queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": length}
    return {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": queuing}}}


class Load:
    """A level with requests of given durations."""

    def __init__(self, spec: dict, limit: int) -> None:
        self.now = 0.0
        self.level = PriorityLevel("l", now=0.0)
        self.limit = limit
        self.level.configure(spec, Limits(limit, limit, limit), uid="u", now=0.0)
        self.counts = FlowCounts()
        #: Names in order of dispatch.
        self.served: list[str] = []
        self.running: list[tuple[str, int, Waiting | None]] = []

    def arrive(self, user: str, seats: int = 1) -> str:
        if self.level.begin(seats, self.now):
            self.served.append(user)
            self.running.append((user, seats, None))
            return ""

        def wake() -> None:
            self.served.append(user)
            self.running.append((user, seats, waiting))

        waiting = Waiting(seats, self.now, wake)
        self.last = waiting
        return self.level.enqueue(flow_hash("s", user), waiting, self.counts)

    def finish_first(self, lasted: float = 0.01) -> None:
        self.now += lasted
        _, seats, waiting = self.running.pop(0)
        self.level.finish(seats, self.now, waited=waiting)


def test_request_within_the_limit_runs_immediately():
    load = Load(queuing(8, 2, 10), limit=3)
    assert [load.arrive("a") for _ in range(3)] == ["", "", ""]
    assert (load.level.in_use, load.level.waiting) == (3, 0)


def test_request_beyond_the_limit_waits_for_a_seat():
    load = Load(queuing(8, 2, 10), limit=1)
    load.arrive("a")
    load.arrive("b")
    assert (load.served, load.level.waiting) == (["a"], 1)
    load.finish_first()
    assert (load.served, load.level.waiting, load.level.in_use) == (["a", "b"], 0, 1)
    load.finish_first()
    assert load.level.in_use == 0


def test_flooding_user_does_not_delay_others():
    load = Load(queuing(64, 6, 50), limit=4)
    refused = Counter(load.arrive("flood") for _ in range(1000))
    assert refused[QUEUE_FULL] == 1000 - 4 - 6 * 50
    for user in ("alice", "bob"):
        for _ in range(5):
            assert load.arrive(user) == ""
    for _ in range(40):
        load.finish_first()
    assert Counter(load.served[4:44])["alice"] == 5
    assert Counter(load.served[4:44])["bob"] == 5


def test_busy_users_get_equal_shares():
    load = Load(queuing(128, 1, 1000), limit=2)
    for user, count in (("a", 500), ("b", 100), ("c", 100)):
        for _ in range(count):
            load.arrive(user)
    for _ in range(150):
        load.finish_first()
    shares = Counter(load.served[-150:])
    assert all(abs(shares[user] - 50) <= 2 for user in "abc")


def test_long_requests_count_for_more_than_short_ones():
    load = Load(queuing(128, 1, 1000), limit=1)
    for _ in range(200):
        load.arrive("slow")
        load.arrive("quick")
    for _ in range(120):
        load.finish_first(0.1 if load.running[0][0] == "slow" else 0.01)
    assert Counter(load.served)["quick"] > 5 * Counter(load.served)["slow"]


def test_full_queue_rejects():
    load = Load(queuing(1, 1, 2), limit=1)
    assert [load.arrive("a") for _ in range(4)] == ["", "", "", QUEUE_FULL]
    assert load.counts.queue_lengths.total == 1 + 2


def test_level_without_queues_rejects_beyond_its_limit():
    load = Load({"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}, limit=1)
    assert [load.arrive("a") for _ in range(2)] == ["", CONCURRENCY_LIMIT]


def test_exempt_level_has_no_limit():
    load = Load({"type": "Exempt"}, limit=0)
    assert [load.arrive("a") for _ in range(50)] == [""] * 50
    assert load.level.in_use == 50


def test_request_wider_than_the_level_runs_alone():
    load = Load(queuing(8, 2, 10), limit=2)
    load.arrive("a")
    load.arrive("wide", seats=5)
    assert load.served == ["a"]
    load.finish_first()
    assert (load.served, load.level.in_use) == (["a", "wide"], 5)
    load.arrive("b")
    assert load.served == ["a", "wide"]
    load.finish_first()
    assert load.served == ["a", "wide", "b"]


def test_leaving_request_frees_its_queue_space():
    load = Load(queuing(8, 2, 10), limit=2)
    load.arrive("a")
    load.arrive("wide", seats=2)
    wide = load.last
    load.arrive("b")
    load.level.leave(wide, load.now)
    assert (load.served, load.level.waiting, load.level.in_use) == (["a", "b"], 0, 2)


def test_resize_dispatches_immediately():
    load = Load(queuing(8, 2, 10), limit=1)
    for _ in range(3):
        load.arrive("a")
    load.level.resize(3, load.now)
    assert len(load.served) == 3


def test_queued_requests_survive_a_change_of_queues():
    load = Load(queuing(8, 2, 10), limit=1)
    for user in "abcd":
        load.arrive(user)
    load.level.configure(queuing(2, 1, 10), Limits(1, 1, 1), uid="u", now=load.now)
    load.level.configure(queuing(8, 2, 10), Limits(1, 1, 1), uid="u", now=load.now)
    for _ in range(4):
        load.finish_first()
    assert sorted(load.served) == ["a", "b", "c", "d"]
    assert load.level._active == {}


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 3), st.booleans()), max_size=80), st.integers(1, 6))
def test_seats_are_neither_exceeded_nor_leaked(steps, limit):
    load = Load(queuing(4, 2, 3), limit=limit)
    accepted = 0
    for user, seats, finishes in steps:
        accepted += load.arrive(user, seats) == ""
        assert load.level.in_use <= max(limit, *(seats for _, seats, _ in load.running), 0)
        assert load.level.in_use == sum(seats for _, seats, _ in load.running)
        for _ in range(min(finishes, len(load.running))):
            load.finish_first()
    while load.running:
        load.finish_first()
    assert (load.level.in_use, load.level.waiting, len(load.served)) == (0, 0, accepted)
    assert load.level._active == {}


@pytest.mark.parametrize(("refused_a_second", "seconds"), [(1, 1), (100, 32)])
def test_retry_after_grows_with_rejections(refused_a_second, seconds):
    retry = RetryAfter()
    for second in range(100):
        for _ in range(refused_a_second):
            retry.refuse(float(second))
    assert retry.seconds == seconds


def test_retry_after_shrinks_with_few_rejections():
    retry = RetryAfter()
    retry.seconds = 4
    for moment in (10.0, 20.0, 30.0, 40.0):
        retry.refuse(moment)
    assert retry.seconds == 1


def test_configure_with_equal_limits_keeps_borrowed_seats():
    level, spec = PriorityLevel("l", now=0.0), queuing(1, 1, 10)
    level.configure(spec, Limits(2, 1, 4), uid="u", now=0.0)
    level.resize(4, 0.0)
    level.configure(spec, Limits(2, 1, 4), uid="u", now=0.0)
    assert level.limit == 4
    level.configure(spec, Limits(3, 1, 4), uid="u", now=0.0)
    assert level.limit == 3
