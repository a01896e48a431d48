"""Private folders and files: made for the user alone, replaced as a whole so that nobody reads half of one."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def make_private(directory: Path) -> Path:
    """The folder, with those above it."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory


def inside(directory: Path, path: str) -> Path:
    """What an absolute path of a container is below ``directory``. Never leads out of it."""
    return directory / os.path.normpath("/" + path).lstrip("/")


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Make the folder hold these files and no others; one that is the same already is left alone."""
    make_private(directory)
    wanted = {inside(directory, path): data for path, data in files.items()}
    for path in [path for path in directory.rglob("*") if path.is_file() and path not in wanted]:
        path.unlink()
    for path, data in wanted.items():
        if path.is_file() and path.read_bytes() == data:
            continue
        make_private(path.parent)
        fresh = path.with_name(f".{path.name}.new")
        fresh.touch(mode=0o600)
        fresh.write_bytes(data)
        fresh.replace(path)


def link(at: Path, target: Path) -> None:
    """Have ``at`` lead to ``target``."""
    make_private(at.parent)
    if at.is_symlink() or at.is_file():
        at.unlink()
    if not at.exists():
        at.symlink_to(target)


def remove(directory: Path) -> None:
    """The folder and all below it. Idempotent."""
    shutil.rmtree(directory, ignore_errors=True)
