"""Errors of opening a store file. Each message contains the next step for the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.storage.store import StoreError

if TYPE_CHECKING:
    from pathlib import Path


class StoreLocked(StoreError):  # noqa: N818 — reads as what happened
    """Another process has the file open."""

    def __init__(self, path: Path, pid: int | None) -> None:
        holder = f"process {pid}" if pid is not None else "another process"
        super().__init__(f"{path} is in use by {holder}; stop it, or choose another data directory")
        #: Process id of the holder, None when unknown.
        self.pid = pid


class NotAStore(StoreError):  # noqa: N818 — reads as what happened
    """The file is not a store; it was not modified."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} is not a Steersman store ({reason}); it was left untouched, choose another data directory"
        )


class SchemaTooNew(StoreError):  # noqa: N818 — reads as what happened
    """A later release wrote the file; it was not modified."""

    def __init__(self, path: Path, *, stored: int, supported: int) -> None:
        super().__init__(
            f"{path} was written by a newer Steersman (schema {stored}, this one knows up to {supported}); "
            "it was left untouched, use that release or newer"
        )
        self.stored = stored


class CorruptStore(StoreError):  # noqa: N818 — reads as what happened
    """The file is damaged."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} is damaged ({reason}); see what `steersman repair --data-dir {path.absolute().parent}` can keep, restore a backup, "
            "or move it away to start empty"
        )


class WritesMissing(StoreError):  # noqa: N818 — reads as what happened
    """Acknowledged writes are missing from the file and its log."""

    def __init__(self, path: Path, reason: str, *, first: int = 0, last: int = 0) -> None:
        if not last:
            lost = "it cannot be told whether acknowledged writes are missing"
        elif first > last:
            lost = f"it cannot be told whether all writes up to revision {last} are there"
        else:
            lost = f"acknowledged writes of revisions {first} to {last} are missing"
        super().__init__(
            f"{path}: {reason}; {lost}. Restore the files if you can; `steersman repair --data-dir {path.absolute().parent}` lists what is "
            "lost and, with --accept-data-loss, continues without it"
        )
        #: Missing revisions; 0 when unknown.
        self.first = first
        self.last = last


class StoreNotWritable(StoreError):  # noqa: N818 — reads as what happened
    """The file or its folder is not writable."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be opened for writing ({reason}); check its permissions and the disk")
