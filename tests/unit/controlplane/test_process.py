"""Reasons to stop, and stopping."""

import asyncio
import os
import signal

from tests.busy_machine import HANG_SECONDS

from steersman.controlplane.options import OptionError
from steersman.controlplane.process import EXIT_REFUSED, run_until_stopped


class Running:
    def __init__(self) -> None:
        self.stops: list[float | None] = []
        self.drained = asyncio.Event()

    async def stop(self, *, grace_seconds: float | None = None) -> None:
        self.stops.append(grace_seconds)
        if grace_seconds is None:
            await self.drained.wait()


def starter(running: Running):
    async def start() -> Running:
        return running

    return start


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)  # noqa: TID251


async def test_signal_stops_and_waits_for_the_drain():
    running = Running()
    task = asyncio.create_task(run_until_stopped(starter(running)))
    await settle()
    os.kill(os.getpid(), signal.SIGTERM)
    await settle()
    running.drained.set()
    assert await asyncio.wait_for(task, HANG_SECONDS) == 0
    assert running.stops == [None]


async def test_second_signal_stops_at_once():
    running = Running()
    task = asyncio.create_task(run_until_stopped(starter(running)))
    await settle()
    for number in (signal.SIGINT, signal.SIGINT):
        os.kill(os.getpid(), number)
        await settle()
    assert await asyncio.wait_for(task, HANG_SECONDS) == 0
    assert running.stops == [None, 0]


async def test_end_of_the_parent_stops():
    reader, writer = os.pipe()
    running = Running()
    running.drained.set()
    task = asyncio.create_task(run_until_stopped(starter(running), parent_pipe=reader))
    await settle()
    os.close(writer)
    assert await asyncio.wait_for(task, HANG_SECONDS) == 0
    assert running.stops == [None]
    os.close(reader)


async def test_signal_during_the_start_ends_it():
    async def start() -> Running:
        await asyncio.Event().wait()
        raise AssertionError

    task = asyncio.create_task(run_until_stopped(start))
    await settle()
    os.kill(os.getpid(), signal.SIGTERM)
    assert await asyncio.wait_for(task, HANG_SECONDS) == 0


async def test_invalid_options_are_reported_in_one_line(capsys):
    async def start() -> Running:
        raise OptionError("no such thing")

    assert await run_until_stopped(start) == EXIT_REFUSED
    assert capsys.readouterr().err == "steersman: no such thing\n"
