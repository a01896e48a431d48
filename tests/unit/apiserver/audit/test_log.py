"""The queue before the audit log."""

import asyncio

import pytest

from steersman.apiserver.audit.log import BATCH, AuditLog, Batching, Threaded
from steersman.asynckit.clock import FakeClock


class Lines:
    """A ``LineFile`` that remembers, and fails when told."""

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
        log = AuditLog(Threaded(file), Batching(**batching), clock=clock)
        logs.append(log)
        tasks.append(asyncio.create_task(log.run()))
        return log, file, clock

    yield make
    for log in logs:
        await log.close()
    await asyncio.gather(*tasks)


async def test_who_records_waits_until_it_is_written(started):
    log, file, _ = started()
    assert await log.record(b"a")
    assert file.writes == [[b"a"]]


async def test_what_comes_together_is_written_together(started):
    log, file, _ = started()
    assert all(await asyncio.gather(*(log.record(b"%d" % number) for number in range(5))))
    assert file.writes == [[b"0", b"1", b"2", b"3", b"4"]]


async def test_a_full_queue_makes_others_wait_and_loses_nothing(started):
    log, file, _ = started(buffer_size=2)
    assert all(await asyncio.gather(*(log.record(b"%d" % number) for number in range(10))))
    assert sorted(line for lines in file.writes for line in lines) == [b"%d" % number for number in range(10)]
    assert max(map(len, file.writes)) <= 2


async def test_what_cannot_be_written_is_told_and_counted(started, caplog):
    log, file, _ = started(mode="blocking-strict")
    file.full = True
    assert not await log.record(b"a")
    assert (log.failed, log.strict) == (1, True)
    assert "no space left" in caplog.text
    file.full = False
    assert await log.record(b"b")


async def test_the_end_of_a_stream_never_waits(started):
    log, file, _ = started(buffer_size=1)
    assert all(log.post(b"%d" % number) for number in range(3))
    await log.close()
    assert file.writes == [[b"0", b"1", b"2"]]


async def test_in_batch_mode_nobody_waits_and_what_finds_no_room_is_counted(started, caplog):
    log, file, _ = started(mode=BATCH, buffer_size=2, batch_max_size=10)
    assert [await log.record(b"%d" % number) for number in range(4)] == [True, True, False, False]
    assert log.dropped == 2
    assert caplog.text.count("dropped") == 1
    await log.close()
    assert file.writes == [[b"0", b"1"]]


async def written(file: Lines, count: int) -> None:
    """Threads are not waited for by the fake clock."""
    async with asyncio.timeout(5):
        while len(file.writes) < count:  # noqa: ASYNC110 — they come from a thread
            await asyncio.sleep(0.001)  # noqa: TID251


async def test_a_batch_is_written_when_it_is_full_or_old_enough(started):
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


async def test_batches_come_at_most_so_often(started):
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


async def test_a_closed_log_takes_nothing_and_has_written_everything(started):
    log, file, _ = started()
    log.post(b"a")
    await log.close()
    assert (file.writes, file.closed) == ([[b"a"]], True)
    assert not log.post(b"b")
    assert not await log.record(b"c")
    await log.close()


async def test_a_log_without_a_writer_still_writes_when_it_is_closed():
    file = Lines()
    log = AuditLog(Threaded(file), Batching(), clock=FakeClock())
    log.post(b"a")
    await log.close()
    assert file.writes == [[b"a"]]


async def test_so_many_bytes_go_together(started):
    log, file, _ = started(batch_max_bytes=5)
    for line in (b"aa", b"bb", b"longer", b"c"):
        log.post(line)
    await log.close()
    assert file.writes == [[b"aa", b"bb"], [b"longer"], [b"c"]]
