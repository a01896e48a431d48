"""Processes that are no children of the test."""

import os
import select

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
