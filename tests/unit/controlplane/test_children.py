"""Commands of ours as child processes."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import subprocess
import sys

import pytest

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane.child_process import ChildProcess
from steersman.controlplane.children import Child, ChildFailedError

#: Stand-ins for a command. Each has the socket as ``sys.argv[1]``.
WAITS = "import os, sys; os.read(int(sys.argv[1]), 100); os.read(int(sys.argv[1]), 1)"
FAILS = "import sys; sys.exit(3)"
REPORTS = """
import os, sys
from steersman.controlplane.child_process import receive_arguments
fd = int(sys.argv[1])
[text] = receive_arguments(fd)
os.write(fd, b"waiting the moon\\nrea")
os.write(fd, b"dy " + text.encode() + b"\\n")
os.read(fd, 1)
"""
HOLDS = "import os, sys; os.write(int(sys.argv[1]), b'waiting the sun\\n'); os.read(int(sys.argv[1]), 100); os.read(int(sys.argv[1]), 1)"


class Spawner:
    """Runs some Python instead of ``-m steersman``."""

    def __init__(self, code):
        self.code = code
        self.processes = []

    def __call__(self, command):
        ours, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            process = subprocess.Popen([sys.executable, "-c", self.code, str(fd)], pass_fds=[fd])
        self.processes.append(process)
        return ChildProcess(process, ours)


async def turns(until):
    while not until():
        await RealClock().sleep(0.01)


async def test_child_stop_terminates_the_process():
    spawn = Spawner(WAITS)
    child = Child("name", clock=RealClock(), spawn=spawn)
    child.start([])
    await turns(lambda: child.pid)
    await child.stop()
    assert [process.returncode for process in spawn.processes] == [-signal.SIGTERM]


async def test_child_stop_is_idempotent_and_works_unstarted():
    child = Child("name", clock=RealClock(), spawn=Spawner(WAITS))
    await child.stop()
    await child.stop()
    assert child.pid is None


async def test_child_stop_ends_a_process_that_was_spawned_and_never_started():
    spawn = Spawner(WAITS)
    child = Child("name", clock=RealClock(), process=spawn("name"))
    await child.stop()
    assert spawn.processes[0].returncode == -signal.SIGTERM


async def test_child_restarts_a_process_that_fails(caplog):
    spawn, clock = Spawner(FAILS), FakeClock()
    child = Child("name", clock=clock, spawn=spawn)
    with caplog.at_level(logging.WARNING):
        child.start([])
        await turns(lambda: clock.waiting)
        assert len(spawn.processes) == 1
        await clock.advance(0.5)
        await turns(lambda: len(spawn.processes) == 2 and clock.waiting)
        await child.stop()
    assert caplog.messages[0] == "name ended with code 3, starting it again"


async def test_child_wait_ready_raises_when_the_process_fails_repeatedly():
    clock = FakeClock()
    child = Child("name", clock=clock, spawn=Spawner(FAILS))
    child.start([])
    waits = asyncio.ensure_future(child.wait_ready())
    for _ in range(2):
        await turns(lambda: clock.waiting)
        assert not waits.done()
        await clock.advance(2)
    with pytest.raises(ChildFailedError, match="the name process ended 3 times before it was ready, with code 3"):
        await waits
    await child.stop()


async def test_child_receives_its_arguments_and_reports_that_it_is_ready():
    child = Child("name", clock=RealClock(), spawn=Spawner(REPORTS))
    child.start(["node-0"])
    assert await child.wait_ready() == "node-0"
    assert child.waiting_for == "the moon"
    await child.stop()


async def test_child_reports_its_pending_step():
    child = Child("name", clock=RealClock(), spawn=Spawner(HOLDS))
    assert child.waiting_for == "the name process"
    child.start([])
    await turns(lambda: child.waiting_for == "the sun")
    await child.stop()


async def test_child_stop_kills_a_process_that_does_not_end(tmp_path):
    deaf = f"import pathlib, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); pathlib.Path('{tmp_path}/deaf').touch(); time.sleep(99)"
    spawn, clock = Spawner(deaf), FakeClock()
    child = Child("name", clock=clock, spawn=spawn)
    child.start([])
    await turns((tmp_path / "deaf").exists)
    stopping = asyncio.create_task(child.stop(grace_seconds=5))
    await turns(lambda: clock.waiting)
    await clock.advance(5)
    await stopping
    assert spawn.processes[0].returncode == -signal.SIGKILL


async def test_child_stop_finishes_the_work_of_one_that_was_cancelled(tmp_path):
    deaf = f"import pathlib, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); pathlib.Path('{tmp_path}/deaf').touch(); time.sleep(99)"
    spawn, clock = Spawner(deaf), FakeClock()
    child = Child("name", clock=clock, spawn=spawn)
    child.start([])
    await turns((tmp_path / "deaf").exists)
    first = asyncio.create_task(child.stop(grace_seconds=5))
    await turns(lambda: clock.waiting)
    first.cancel()
    await asyncio.wait([first])
    second = asyncio.create_task(child.stop(grace_seconds=1))
    await turns(lambda: clock.waiting)
    await clock.advance(1)
    await second
    assert spawn.processes[0].returncode == -signal.SIGKILL
