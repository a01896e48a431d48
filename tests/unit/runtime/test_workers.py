import asyncio
import logging

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client.errors import Conflict, RequestFailed
from steersman.client.workqueue import ItemExponentialFailureRateLimiter, WorkQueue
from steersman.runtime.metrics import RuntimeMetrics
from steersman.runtime.workers import Workers, WorkPolicy


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def queue(clock):
    return WorkQueue("test", clock=clock, rate_limiter=ItemExponentialFailureRateLimiter(base_delay_seconds=1))


@pytest.fixture
async def work(queue, clock):
    """Starts workers on a reconcile."""
    tasks = []

    def start(reconcile, **policy):
        workers = Workers(
            queue,
            reconcile,
            policy=WorkPolicy(**policy),
            clock=clock,
            metrics=RuntimeMetrics().controller("test"),
            log=logging.getLogger("test"),
        )
        tasks.append(asyncio.create_task(workers.run()))
        return workers

    yield start
    for task in tasks:
        task.cancel()
    await clock.advance(0)


async def test_so_many_keys_are_worked_on_at_once_and_no_key_twice(queue, clock, work):
    running, most = set(), []

    async def reconcile(key):
        assert key not in running
        running.add(key)
        most.append(len(running))
        await clock.sleep(1)
        running.remove(key)

    work(reconcile, workers=3)
    for key in range(10):
        queue.add(key)
    await clock.advance(0.5)
    for key in range(3):
        queue.add(key)
    await clock.advance(100)
    assert max(most) == 3
    assert len(most) == 10 + 3


async def test_workers_start_when_all_others_are_busy(queue, clock, work):
    def workers():
        return sum(task.get_name().startswith("test: worker") for task in asyncio.all_tasks())

    work(lambda key: clock.sleep(1), workers=3)
    await clock.advance(0)
    assert workers() == 1
    for number in range(2):  # one after the other
        queue.add(number)
        await clock.advance(2)
    assert workers() == 2
    for number in range(10):
        queue.add(number)
    await clock.advance(0)
    assert workers() == 3


async def test_failed_reconcile_does_not_end_its_worker(queue, clock, work):
    done = []

    async def reconcile(key):
        if key == "bad":
            raise RuntimeError("broken")
        done.append(key)

    work(reconcile)
    for key in ("bad", "good"):
        queue.add(key)
    await clock.advance(0)
    assert done == ["good"]
    assert queue.num_requeues("bad") == 1


async def test_cancelled_wait_within_a_reconcile_is_a_failure(queue, clock, work, caplog):
    done = []

    async def reconcile(key):
        if not done:
            done.append(key)
            never = asyncio.get_running_loop().create_future()
            never.cancel()
            await never
        done.append(key)

    work(reconcile)
    queue.add("a")
    await clock.advance(2)
    assert done == ["a", "a"]
    assert "what the reconcile waited for was cancelled" in caplog.text


@pytest.mark.parametrize(
    ("errors", "level", "text"),
    [
        ([Conflict({"code": 409, "reason": "Conflict", "message": "lost"})], "INFO", "a will be tried again: lost"),
        (
            [Conflict({"code": 409, "reason": "Conflict", "message": "lost"}), RequestFailed("away")],
            "WARNING",
            "a will be tried again: lost; away",
        ),
        ([RequestFailed("away"), RequestFailed("away")], "WARNING", "a will be tried again: away"),
        ([RequestFailed("away"), RuntimeError("bug")], "ERROR", "a failed, will be tried again"),
    ],
)
async def test_error_group_is_reported_as_its_worst_error(queue, clock, work, caplog, errors, level, text):
    caplog.set_level("INFO")

    async def reconcile(key):
        raise ExceptionGroup("outer", [ExceptionGroup("inner", errors)])

    work(reconcile)
    queue.add("a")
    await clock.advance(0)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        (level, f"test: reconciling {text}")
    ]


async def test_key_changed_during_a_failed_reconcile_is_processed_at_once_and_retried(queue, clock, work):
    at = []

    async def reconcile(key):
        at.append(clock.monotonic())
        if len(at) == 1:
            queue.add(key)
            raise RuntimeError("broken")

    work(reconcile)
    queue.add("a")
    await clock.advance(10)
    assert at == [0, 0, 1]


async def test_stopped_workers_leave_queued_keys(queue, clock, work):
    done = []

    async def reconcile(key):
        await clock.sleep(1)
        done.append(key)

    workers = work(reconcile)
    for key in "ab":
        queue.add(key)
    await clock.advance(0.5)
    workers.stop()
    workers.stop()
    await clock.advance(10)
    assert done == ["a"]
    assert len(queue) == 0
