"""Running control planes of this user: each has a file with its address and holds a lock on it.

A file whose lock is free belongs to an ended process and is removed by the next reader.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.controlplane.options import OptionError, default_data_dir

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

_SUFFIX: Final = ".json"


class RunningPlane(msgspec.Struct, frozen=True, kw_only=True):
    """Content of one control plane's file."""

    pid: int
    url: str
    kubeconfig: str
    #: ``--name``; empty for an unnamed one.
    name: str = ""
    #: Data directory; empty if objects are in memory.
    data_dir: str = ""
    version: str = ""
    #: Start time, RFC 3339.
    started: str = ""
    #: True if it has controllers, a scheduler and nodes.
    is_whole: bool = False


def running_directory() -> Path:
    """Return ``running`` in the user's state directory."""
    return default_data_dir() / "running"


class Announcement:
    """File of a ready control plane, removed on close."""

    def __init__(self, fd: int, path: Path) -> None:
        self._fd = fd
        self._path = path

    @classmethod
    def make(cls, plane: RunningPlane, *, directory: Path) -> Self:
        """Raise OSError. The file is renamed once it is complete and locked."""
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = directory / f"{plane.pid}{_SUFFIX}"
        new = path.with_suffix(".new")
        fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.write(fd, msgspec.json.encode(plane))
            new.rename(path)
        except BaseException:
            os.close(fd)
            raise
        return cls(fd, path)

    def close(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)
        os.close(self._fd)


def running_planes(directory: Path) -> list[RunningPlane]:
    """Return the running control planes, oldest first, and remove stale files."""
    planes = []
    for path in directory.glob(f"*{_SUFFIX}"):
        with suppress(OSError, msgspec.DecodeError):
            plane = _read(path)
            if plane is not None:
                planes.append(plane)
    return sorted(planes, key=lambda plane: (plane.started, plane.pid))


def check_name_is_free(name: str) -> None:
    """Raise ``OptionError`` if a control plane of that name runs here; several without a name may run."""
    for plane in running_planes(running_directory()) if name else ():
        if plane.name == name:
            raise OptionError(f"--name: a control plane named {name!r} runs already: {plane.url}, process {plane.pid}")


def _read(path: Path) -> RunningPlane | None:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return msgspec.json.decode(file.read(), type=RunningPlane)
        path.unlink(missing_ok=True)
        return None
