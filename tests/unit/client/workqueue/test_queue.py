import asyncio
import random
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from steersman.asynckit.clock import FakeClock
from steersman.client.workqueue import ItemExponentialFailureRateLimiter, ShutDown, WorkQueue


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def queue(clock):
    return WorkQueue("test", clock=clock, rate_limiter=ItemExponentialFailureRateLimiter(base_delay_seconds=1))


async def test_key_added_several_times_is_handed_out_once(queue):
    queue.add("a")
    queue.add("a")
    assert len(queue) == 1
    assert await queue.get() == "a"
    assert len(queue) == 0


async def test_key_added_while_processed_is_handed_out_again_after_done(queue):
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert await queue.get() == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_get_waits_for_a_key(queue):
    worker = asyncio.create_task(queue.get())
    await asyncio.wait([worker], timeout=0)
    queue.add("a")
    assert await worker == "a"


async def test_get_passes_the_wake_up_on_when_cancelled(queue):
    workers = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.wait(workers, timeout=0)
    queue.add("a")
    workers[0].cancel()
    assert await workers[1] == "a"
    assert workers[0].cancelled()


async def test_get_takes_no_key_when_cancelled(queue):
    workers = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.wait(workers, timeout=0)
    workers[0].cancel()
    await asyncio.wait([workers[0]])
    queue.add("a")
    assert await workers[1] == "a"


async def test_higher_priority_is_first_after_processing_and_delay(queue, clock):
    queue.add("busy")
    await queue.get()
    queue.add("busy", priority=1)
    queue.add("busy", priority=3)
    queue.add("normal")
    queue.add_after("later", 1, priority=2)
    await clock.advance(1)
    queue.done("busy")
    assert [await queue.get() for _ in range(3)] == ["busy", "later", "normal"]


async def test_delayed_keys_are_added_when_due_with_one_timer(queue, clock):
    for key, seconds in (("c", 3), ("a", 1), ("b", 2)):
        queue.add_after(key, seconds)
    assert queue.delayed == 3
    assert clock.waiting == 1
    await clock.advance(0.9)
    assert len(queue) == 0
    await clock.advance(1.1)
    assert [await queue.get() for _ in range(2)] == ["a", "b"]
    await clock.advance(1)
    assert await queue.get() == "c"
    assert clock.waiting == 0


async def test_delayed_key_is_added_once_at_the_earliest_time(queue, clock):
    queue.add_after("a", 5)
    queue.add_after("a", 1)
    queue.add_after("a", 3)
    await clock.advance(1)
    assert await queue.get() == "a"
    queue.done("a")
    await clock.advance(10)
    assert len(queue) == 0


async def test_add_after_zero_seconds_adds_at_once(queue):
    queue.add_after("a", 0)
    assert await queue.get() == "a"


async def test_add_rate_limited_backs_off_until_forget(queue, clock):
    assert [queue.add_rate_limited("a") for _ in range(3)] == [1, 2, 4]
    assert queue.num_requeues("a") == 3
    queue.forget("a")
    assert queue.add_rate_limited("a") == 1
    await clock.advance(1)
    assert await queue.get() == "a"


async def test_shut_down_hands_out_queued_keys_and_accepts_none(queue, clock):
    queue.add("a")
    queue.add_after("later", 1)
    queue.shut_down()
    queue.add("b")
    queue.add_after("c", 1)
    assert queue.shutting_down
    assert await queue.get() == "a"
    await clock.advance(5)
    with pytest.raises(ShutDown):
        await queue.get()
    assert clock.waiting == 0


async def test_shut_down_wakes_waiting_workers(queue):
    workers = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.wait(workers, timeout=0)
    queue.shut_down()
    await asyncio.wait(workers)
    assert [type(worker.exception()) for worker in workers] == [ShutDown, ShutDown]


async def test_shut_down_with_drain_waits_for_queued_and_processed_keys(queue):
    queue.add("a")
    queue.add("b")
    await queue.get()
    queue.add("a")  # once more
    drained = asyncio.create_task(queue.shut_down_with_drain())
    await asyncio.wait([drained], timeout=0)
    assert await queue.get() == "b"
    queue.done("b")
    queue.done("a")
    await asyncio.wait([drained], timeout=0)
    assert not drained.done()
    assert await queue.get() == "a"
    queue.done("a")
    await drained


async def test_shut_down_with_drain_of_an_idle_queue_returns_at_once(queue):
    await queue.shut_down_with_drain()


async def test_done_is_idempotent(queue):
    queue.add("a")
    await queue.get()
    queue.done("a")
    queue.done("a")
    queue.done("never taken")
    assert queue.processing == 0


KEYS = st.integers(0, 4)


class QueueModel(RuleBasedStateMachine):
    """Stateful test against a reference model: keys to be processed, and keys being processed."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        self.queue = WorkQueue(clock=self.clock, rate_limiter=ItemExponentialFailureRateLimiter(base_delay_seconds=1))
        self.owed = set()
        self.held = Counter()
        self.later = {}

    def teardown(self):
        self.finish()
        self.loop.close()

    def finish(self):
        """Check that no key is lost: after the longest delay, every key is handed out."""
        for key in list(self.held):
            self.give_back(key)
        self.pass_time(2000)
        while self.owed:
            self.take()
            self.give_back(next(iter(self.held)))
        assert len(self.queue) == 0
        assert self.queue.delayed == 0

    def give_back(self, key):
        del self.held[key]
        self.queue.done(key)

    def due_at(self, key, seconds):
        due = self.clock.monotonic() + seconds
        self.later[key] = min(due, self.later.get(key, due))

    @rule(key=KEYS, priority=st.integers(-1, 1))
    def add(self, key, priority):
        self.queue.add(key, priority=priority)
        self.owed.add(key)

    @rule(key=KEYS, seconds=st.integers(1, 5))
    def add_after(self, key, seconds):
        self.queue.add_after(key, seconds)
        self.due_at(key, seconds)

    @rule(key=KEYS)
    def fail(self, key):
        self.due_at(key, self.queue.add_rate_limited(key))

    @rule(key=KEYS)
    def forget(self, key):
        self.queue.forget(key)

    @rule(seconds=st.integers(0, 6))
    def pass_time(self, seconds):
        self.loop.run_until_complete(self.clock.advance(seconds))
        due = {key for key, moment in self.later.items() if moment <= self.clock.monotonic()}
        self.owed |= due
        self.later = {key: moment for key, moment in self.later.items() if key not in due}

    @precondition(lambda self: self.owed - set(self.held))
    @rule()
    def take(self):
        key = self.loop.run_until_complete(self.queue.get())
        assert key in self.owed
        assert key not in self.held
        self.owed.remove(key)
        self.held[key] += 1

    @precondition(lambda self: self.held)
    @rule(pick=st.randoms(use_true_random=False))
    def done(self, pick):
        self.give_back(pick.choice(sorted(self.held)))

    @invariant()
    def what_waits_is_what_is_owed_and_free(self):
        assert len(self.queue) == len(self.owed - set(self.held))
        assert self.queue.processing == len(self.held)


QueueModel.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestQueueModel = QueueModel.TestCase


@pytest.mark.parametrize("seed", range(10))
async def test_no_key_is_lost_or_processed_concurrently_by_cancelled_workers(seed):
    clock, dice = FakeClock(), random.Random(seed)
    queue = WorkQueue(
        clock=clock, rate_limiter=ItemExponentialFailureRateLimiter(base_delay_seconds=0.1, max_delay_seconds=5)
    )
    expected, done, busy = Counter(), Counter(), set()

    async def worker():
        while True:
            key = await queue.get()
            try:
                assert key not in busy
                busy.add(key)
                seen = expected[key]
                await clock.sleep(dice.uniform(0, 0.5))
                done[key] = max(done[key], seen)
                queue.forget(key)
            except asyncio.CancelledError:
                queue.add(key)  # it was not finished: another's now
                raise
            finally:
                busy.discard(key)
                queue.done(key)

    workers = [asyncio.create_task(worker()) for _ in range(4)]
    for _ in range(300):
        key = dice.randrange(10)
        expected[key] += 1
        dice.choice([queue.add, lambda key: queue.add_after(key, dice.uniform(0, 2)), queue.add_rate_limited])(key)
        await clock.advance(dice.uniform(0, 0.1))
        if dice.random() < 0.1:
            number = dice.randrange(4)
            workers[number].cancel()
            workers[number] = asyncio.create_task(worker())
    await clock.advance(60)
    for task in workers:
        task.cancel()
    await asyncio.wait(workers)
    assert done == expected
    assert (len(queue), queue.processing, queue.delayed) == (0, 0, 0)
