"""Processes beside ours."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

import pytest

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane import children
from steersman.controlplane.children import Child

#: Stands for a command of ours: it says that it lives, and ends with the pipe.
WAITS = "import os, sys; os.read(int(sys.argv[-1].partition('=')[2]), 1)"
FAILS = "import sys; sys.exit(3)"


@pytest.fixture
def runs(monkeypatch):
    """Let a child run some Python instead of ``-m steersman``."""
    started = []
    real = asyncio.create_subprocess_exec

    def use(code):
        async def start(python, dash_m, module, *arguments, **options):
            process = await real(python, "-c", code, *arguments, **options)
            started.append(process)
            return process

        monkeypatch.setattr(children.asyncio, "create_subprocess_exec", start)
        return started

    return use


async def turns(until):
    while not until():
        await RealClock().sleep(0.01)


async def test_it_is_asked_to_end(runs):
    started = runs(WAITS)
    child = Child(["name"], clock=RealClock())
    child.start()
    await turns(lambda: child.pid)
    await child.stop()
    assert [process.returncode for process in started] == [-signal.SIGTERM]


async def test_stopping_twice_or_unstarted_is_fine(runs):
    child = Child(["name"], clock=RealClock())
    await child.stop()
    await child.stop()
    assert child.pid is None


async def test_it_ends_when_the_pipe_does(runs):
    started = runs(WAITS)
    child = Child(["name"], clock=FakeClock())
    child.start()
    await turns(lambda: child.pid)
    reader, writer = child._pipe
    os.close(writer)
    child._pipe = (reader, os.dup(reader))
    await turns(lambda: started[0].returncode is not None)
    await child.stop()
    assert started[0].returncode == 0


async def test_one_that_fails_is_started_again_after_a_while(runs, caplog):
    started, clock = runs(FAILS), FakeClock()
    child = Child(["name"], clock=clock)
    with caplog.at_level(logging.WARNING):
        child.start()
        await turns(lambda: clock.waiting)
        assert len(started) == 1
        await clock.advance(0.5)
        await turns(lambda: len(started) == 2 and clock.waiting)
        await child.stop()
    assert caplog.messages[0] == "name ended with code 3, starting it again"


async def test_one_that_does_not_end_is_killed(runs, tmp_path):
    deaf = f"import pathlib, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); pathlib.Path('{tmp_path}/deaf').touch(); time.sleep(99)"
    started, clock = runs(deaf), FakeClock()
    child = Child(["name"], clock=clock)
    child.start()
    await turns((tmp_path / "deaf").exists)
    stopping = asyncio.create_task(child.stop(grace_seconds=5))
    await turns(lambda: clock.waiting)
    await clock.advance(5)
    await stopping
    assert started[0].returncode == -signal.SIGKILL
