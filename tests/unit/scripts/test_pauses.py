"""Pauses of processes."""

from __future__ import annotations

import os
import subprocess
import sys

from scripts.pauses import descendants, paused, run

#: Starts a process, prints its number, and ends when its input does.
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"])
print(child.pid, flush=True)
child.wait()
"""


def test_descendants_are_the_processes_of_all_generations():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert {parent.pid, child} <= set(descendants(os.getpid()))
        assert descendants(parent.pid) == [child]
        assert parent.stdin is not None
        parent.stdin.close()


def test_paused_processes_are_stopped_and_continued():
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as process:
        with paused([process.pid]):
            stopped = os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        continued = os.waitid(os.P_PID, process.pid, os.WCONTINUED)
        assert process.stdin is not None
        process.stdin.close()
    assert (stopped.si_code, continued.si_code) == (os.CLD_STOPPED, os.CLD_CONTINUED)
    with paused([process.pid]):  # it has ended
        pass


def test_run_returns_the_exit_code_of_the_command():
    program = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', 'import sys; sys.exit(3)']))"
    assert run([sys.executable, "-c", program], seed=1, interval_seconds=0.01, seconds_max=0.01) == 3
