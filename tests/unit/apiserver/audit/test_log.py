"""Queue of the audit log."""

import asyncio

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.apiserver.audit.log import BATCH, AuditLog, BatchConfig, ThreadedDestination
from steersman.asynckit.clock import FakeClock


class Lines:
    """``LineFile`` that records lines, and fails on request."""

    def __init__(self) -> None:
        self.writes: list[list[bytes]] = []
        self.closed = False
        self.full = False

    def write(self, lines):
        if self.full:
            raise OSError("no space left on device")
        self.writes.append(list(lines))

    def close(self):
        self.closed = True


@pytest.fixture
async def started():
    tasks, logs = [], []

    def make(**batching):
        file, clock = Lines(), FakeClock()
        log = AuditLog(ThreadedDestination(file), BatchConfig(**batching), clock=clock)
        logs.append(log)
        tasks.append(asyncio.create_task(log.run()))
        return log, file, clock

    yield make
    for log in logs:
        await log.close()
    await asyncio.gather(*tasks)


async def test_record_waits_until_the_line_is_written(started):
    log, file, _ = started()
    assert await log.record(b"a")
    assert file.writes == [[b"a"]]


async def test_concurrent_lines_are_written_together(started):
    log, file, _ = started()
    assert all(await asyncio.gather(*(log.record(b"%d" % number) for number in range(5))))
    assert file.writes == [[b"0", b"1", b"2", b"3", b"4"]]


async def test_full_queue_blocks_without_loss(started):
    log, file, _ = started(buffer_size=2)
    assert all(await asyncio.gather(*(log.record(b"%d" % number) for number in range(10))))
    assert sorted(line for lines in file.writes for line in lines) == [b"%d" % number for number in range(10)]
    assert max(map(len, file.writes)) <= 2


async def test_failed_write_is_logged_and_counted(started, caplog):
    log, file, _ = started(mode="blocking-strict")
    file.full = True
    assert not await log.record(b"a")
    assert (log.failed, log.strict) == (1, True)
    assert "no space left" in caplog.text
    file.full = False
    assert await log.record(b"b")


async def test_post_never_waits(started):
    log, file, _ = started(buffer_size=1)
    assert all(log.post(b"%d" % number) for number in range(3))
    await log.close()
    assert file.writes == [[b"0", b"1", b"2"]]


async def test_batch_mode_drops_and_counts_lines_when_full(started, caplog):
    log, file, _ = started(mode=BATCH, buffer_size=2, batch_max_size=10)
    assert [await log.record(b"%d" % number) for number in range(4)] == [True, True, False, False]
    assert log.dropped == 2
    assert caplog.text.count("dropped") == 1
    await log.close()
    assert file.writes == [[b"0", b"1"]]


async def written(file: Lines, count: int) -> None:
    """Wait in real time for the writer thread, which the fake clock does not cover."""
    async with asyncio.timeout(HANG_SECONDS):
        while len(file.writes) < count:  # noqa: ASYNC110 — they come from a thread
            await asyncio.sleep(0.001)  # noqa: TID251


async def test_batch_is_written_when_full_or_after_its_wait(started):
    log, file, clock = started(mode=BATCH, batch_max_size=2, batch_max_wait_seconds=30)
    log.post(b"a")
    await clock.advance(29)
    assert file.writes == []
    await clock.advance(1)
    await written(file, 1)
    log.post(b"b")
    log.post(b"c")
    await written(file, 2)
    assert file.writes == [[b"a"], [b"b", b"c"]]


async def test_batches_are_throttled(started):
    log, file, clock = started(mode=BATCH, throttle_qps=0.5, throttle_burst=1)
    log.post(b"a")
    log.post(b"b")
    await clock.advance(0)
    await written(file, 1)
    await clock.advance(1.9)
    assert file.writes == [[b"a"]]
    await clock.advance(0.1)
    await written(file, 2)
    assert file.writes == [[b"a"], [b"b"]]


async def test_close_writes_queued_lines_and_rejects_others(started):
    log, file, _ = started()
    log.post(b"a")
    await log.close()
    assert (file.writes, file.closed) == ([[b"a"]], True)
    assert not log.post(b"b")
    assert not await log.record(b"c")
    await log.close()


async def test_close_writes_queued_lines_without_a_writer():
    file = Lines()
    log = AuditLog(ThreadedDestination(file), BatchConfig(), clock=FakeClock())
    log.post(b"a")
    await log.close()
    assert file.writes == [[b"a"]]


async def test_batch_size_is_limited_in_bytes(started):
    log, file, _ = started(batch_max_bytes=5)
    for line in (b"aa", b"bb", b"longer", b"c"):
        log.post(line)
    await log.close()
    assert file.writes == [[b"aa", b"bb"], [b"longer"], [b"c"]]
