"""Outputs of audit lines: a rotated file, or standard output. Not thread-safe."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

_TIME_FORMAT: Final = "%Y-%m-%dT%H-%M-%S"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}")
_COMPRESSED: Final = ".gz"


class LineFile(Protocol):
    """Output of lines that end in a line feed."""

    def write(self, lines: Iterable[bytes]) -> None:
        """Write and flush lines. Raises ``OSError``."""

    def close(self) -> None:
        """Close the output. Idempotent."""


class StandardOutput:
    """Output for ``--audit-log-path=-``."""

    def write(self, lines: Iterable[bytes]) -> None:
        """Write lines to standard output. Raises ``OSError``."""
        sys.stdout.buffer.write(b"".join(lines))
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """Do nothing; standard output stays open."""


class Rotation(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the file and its backups. Defaults are kube-apiserver's; 0: no limit."""

    size_max_bytes: int = 100 * 1024 * 1024
    age_max_days: int = 366
    backups_max: int = 100
    compress: bool = False


class RotatingFile:
    """Append-only file with mode 0600, rotated to ``<name>-<time><suffix>``.

    A line that exceeds the size limit gets a file of its own.
    """

    def __init__(self, path: Path, rotation: Rotation, *, now: Callable[[], datetime]) -> None:
        """Open the file. Raises ``OSError``."""
        self._path: Final = path
        self._rotation: Final = rotation
        self._now: Final = now
        self._size = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO | None = self._open()

    def _open(self) -> BinaryIO:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(descriptor).st_size
        return os.fdopen(descriptor, "ab")

    def write(self, lines: Iterable[bytes]) -> None:
        """Append lines, rotating as needed. Raises ``OSError``; the next write retries."""
        limit = self._rotation.size_max_bytes
        for line in lines:
            if self._file is None:
                self._file = self._open()
            if limit and self._size and self._size + len(line) > limit:
                self._rotate(self._file)
                self._file = self._open()
            self._file.write(line)
            self._size += len(line)
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file. Idempotent."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _rotate(self, file: BinaryIO) -> None:
        self._file = None
        file.close()
        backup = self._free_name()
        self._path.rename(backup)
        if self._rotation.compress:
            _compress(backup)
        for old in self._outdated():
            old.unlink(missing_ok=True)

    def _free_name(self) -> Path:
        """Return an unused backup name: several files may be rotated within a millisecond."""
        time = self._now().astimezone(UTC)
        while True:
            text = f"{time.strftime(_TIME_FORMAT)}.{time.microsecond // 1000:03d}"
            path = self._path.with_name(f"{self._path.stem}-{text}{self._path.suffix}")
            if not path.exists() and not path.with_name(path.name + _COMPRESSED).exists():
                return path
            time += timedelta(milliseconds=1)

    def _outdated(self) -> list[Path]:
        """Return the backups that exceed age or number; the newest are kept."""
        backups = sorted(self._backups().items(), key=lambda item: item[1], reverse=True)
        rotation = self._rotation
        retained = backups[: rotation.backups_max] if rotation.backups_max else backups
        if rotation.age_max_days:
            oldest = self._now().astimezone(UTC) - timedelta(days=rotation.age_max_days)
            retained = [(path, since) for path, since in retained if since >= oldest]
        return [path for path, _ in backups[len(retained) :]]

    def _backups(self) -> dict[Path, datetime]:
        start, suffix = f"{self._path.stem}-", self._path.suffix
        backups = {}
        for path in self._path.parent.iterdir():
            name = path.name.removesuffix(_COMPRESSED)
            text = name.removeprefix(start).removesuffix(suffix) if suffix else name.removeprefix(start)
            if name == f"{start}{text}{suffix}" and _TIME.fullmatch(text):
                whole = datetime.strptime(text[:-4], _TIME_FORMAT).replace(tzinfo=UTC)
                backups[path] = whole + timedelta(milliseconds=int(text[-3:]))
        return backups


def _compress(path: Path) -> None:
    packed = path.with_name(path.name + _COMPRESSED)
    descriptor = os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with path.open("rb") as source, os.fdopen(descriptor, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb") as target:
        shutil.copyfileobj(source, target)
    path.unlink()
