"""One process per store: an advisory lock that the kernel releases however the holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from steersman.storage.sqlite.errors import StoreLocked, StoreNotWritable

if TYPE_CHECKING:
    from pathlib import Path

_PID_BYTES_MAX = 32


class FileLock:
    """Holds ``<store>.lock``; the file stays behind on purpose, removing it would race with the next opener."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd: int | None = fd

    @classmethod
    def take(cls, store: Path) -> FileLock:
        """Raises ``StoreLocked`` at once when somebody has it, ``StoreNotWritable``."""
        path = store.with_name(store.name + ".lock")
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreNotWritable(store, error.strerror or str(error)) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _holder(fd)
            os.close(fd)
            raise StoreLocked(store, holder) from error
        with contextlib.suppress(OSError):  # a full disk: the lock holds all the same, only its message is poorer
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        return cls(path, fd)

    def release(self) -> None:
        """Idempotent."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


def _holder(fd: int) -> int | None:
    text = os.pread(fd, _PID_BYTES_MAX, 0).strip()
    return int(text) if text.isdigit() else None
