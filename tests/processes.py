"""Processes that are no children of the test."""

import os
import select
import subprocess
import sys

from tests.busy_machine import HANG_SECONDS


def wait_for_end(pid: int) -> bool:
    """Wait until the process has ended; return False if it does not end."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], HANG_SECONDS)[0])
    finally:
        os.close(process)


def ends_with_its_parent(program: str) -> bool:
    """Kill a process of Python that runs ``program``; return False if the process whose ID it has printed does not end."""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    return wait_for_end(child)
