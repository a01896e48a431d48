"""Private directories and files: accessible to the user only, and replaced atomically."""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def make_private(directory: Path) -> Path:
    """Create the directory and its parents with mode 0700; return it."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory


def inside(directory: Path, path: str) -> Path:
    """Resolve an absolute path of a container below ``directory``. The result is always inside."""
    return directory / os.path.normpath("/" + path).lstrip("/")


class VolumeFile(NamedTuple):
    """Content and mode of a file in a volume."""

    data: bytes
    mode: int = 0o600


def write_files(directory: Path, files: Mapping[str, VolumeFile]) -> None:
    """Create, update and remove files so that the directory has exactly these; unchanged files are not rewritten."""
    make_private(directory)
    desired = {inside(directory, path): file for path, file in files.items()}
    for path in [path for path in directory.rglob("*") if path.is_file() and path not in desired]:
        path.unlink()
    for path, (data, mode) in desired.items():
        if _holds(path, data) and stat.S_IMODE(path.stat().st_mode) == mode:
            continue
        make_private(path.parent)
        fresh = path.with_name(f".{path.name}.new")
        fresh.touch(mode=0o600)
        fresh.write_bytes(data)
        fresh.chmod(mode)
        fresh.replace(path)


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:  # missing, or a mode without permission to read
        return False


def link(at: Path, target: Path) -> None:
    """Create or replace the symbolic link ``at`` to ``target``, unless it is a directory."""
    make_private(at.parent)
    if at.is_symlink() or at.is_file():
        at.unlink()
    if not at.exists():
        at.symlink_to(target)


def remove(directory: Path) -> None:
    """Remove the directory and its contents. Idempotent."""
    shutil.rmtree(directory, ignore_errors=True)
