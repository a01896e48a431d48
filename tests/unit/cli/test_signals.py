"""Signals outside the event loop, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def run(code: str) -> subprocess.CompletedProcess[str]:
    begin = "import os, signal, sys; from steersman.cli import signals; signals.exit_on_signals()\n"
    return subprocess.run([sys.executable, "-c", begin + code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_exit_on_signals_ends_the_process_with_code_0(name: str) -> None:
    done = run(f"signal.raise_signal(signal.{name}); sys.exit(7)")
    assert (done.returncode, done.stderr) == (0, "")


def test_exit_on_signals_kills_registered_children() -> None:
    done = run(
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(999)'])\n"
        "signals.kill_on_exit(child.pid); os.write(1, b'%d' % child.pid)\n"
        "signal.raise_signal(signal.SIGTERM)"
    )
    assert done.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_deferred_handles_a_signal_after_the_block() -> None:
    done = run(
        "with signals.deferred():\n"
        "    signal.raise_signal(signal.SIGTERM); os.write(1, b'inside ')\n"
        "os.write(1, b'after'); sys.exit(7)"
    )
    assert (done.returncode, done.stdout) == (0, "inside ")


def test_ignore_signals_holds_in_all_threads_after_the_loop_is_closed() -> None:
    done = run(
        "import asyncio, threading, uvloop\n"
        "async def work():\n"
        "    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, print)\n"
        "with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:\n"
        "    runner.run(work()); signals.ignore_signals(runner.get_loop())\n"
        "threading.Thread(target=signal.pthread_kill, args=(threading.get_ident(), 15)).start()\n"
        "os.kill(os.getpid(), signal.SIGTERM); sys.exit(7)"
    )
    assert done.returncode == 7


@pytest.mark.parametrize("is_closed_before", [True, False])
def test_exit_with_parent_ends_the_process_when_the_pipe_is_closed(is_closed_before: bool) -> None:
    close = "os.close(writer)\n"
    follow = "signals.exit_with_parent(['up', f'--parent-pipe={reader}'])\n"
    begin = "reader, writer = os.pipe()\n"
    done = run(begin + (close + follow if is_closed_before else follow + close) + "sys.exit(7)")
    assert (done.returncode, done.stderr) == (0, "")


def test_exit_with_parent_ignores_data() -> None:
    code = "reader, writer = os.pipe(); signals.exit_with_parent(['up', f'--parent-pipe={reader}']); os.write(writer, b'x'); sys.exit(7)"
    assert run(code).returncode == 7
