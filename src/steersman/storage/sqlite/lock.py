"""Advisory lock for one process per store, which the kernel releases when its holder ends. The holder shares it with its writer
process, which may outlive it by one commit, for which an opener waits.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import time
from typing import TYPE_CHECKING

from steersman.storage.sqlite.errors import StoreLocked, StoreNotWritable

if TYPE_CHECKING:
    from pathlib import Path

_PID_BYTES_MAX = 32
#: Bound for the last commit of a dead holder's writer process, and the polling interval.
_LEFTOVER_SECONDS = 10.0
_LOOK_SECONDS = 0.005


class FileLock:
    """Lock on ``<store>.lock``. The file is never removed, as that would race with the next opener."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd: int | None = fd

    @classmethod
    def take(cls, store: Path) -> FileLock:
        """Acquire the lock; blocks only while the writer process of a dead parent finishes.

        Raises ``StoreLocked`` at once when another process holds it, ``StoreNotWritable``.
        """
        path = store.with_name(store.name + ".lock")
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreNotWritable(store, error.strerror or str(error)) from error
        deadline = time.monotonic() + _LEFTOVER_SECONDS
        while not _try_lock(fd):
            holder = _holder(fd)
            if holder is None or _is_alive(holder) or time.monotonic() > deadline:
                os.close(fd)
                raise StoreLocked(store, holder)
            time.sleep(_LOOK_SECONDS)
        with contextlib.suppress(
            OSError
        ):  # the disk is full: the lock is valid, but the process ID is missing in messages
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        return cls(path, fd)

    @property
    def descriptor(self) -> int:
        """Return the descriptor for a process that shares the lock. Raises ``ValueError`` after ``release``."""
        if self._fd is None:
            raise ValueError(f"{self._path} is not locked any more")
        return self._fd

    def release(self) -> None:
        """Release the lock; a process that shares it keeps it. Idempotent."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_alive(pid: int) -> bool:
    """Report whether the process runs; a zombie does not."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except OSError:  # not supported by the kernel, or an invalid process ID
        return True
    try:
        ended = select.poll()
        ended.register(process, select.POLLIN)
        return not ended.poll(0)
    finally:
        os.close(process)


def _holder(fd: int) -> int | None:
    text = os.pread(fd, _PID_BYTES_MAX, 0).strip()
    return int(text) if text.isdigit() else None
