"""The data directory as ``check``, ``repair`` and ``backup`` see it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from steersman.controlplane.options import default_data_dir

if TYPE_CHECKING:
    import argparse

STORE_FILE: Final = "state.db"


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    """Add ``--data-dir``."""
    parser.add_argument(
        "--data-dir", type=Path, help=f"data directory of the API server (default {default_data_dir()})"
    )


def store_path(data_dir: Path | None) -> Path:
    """Return the path of the store in a data directory, the default one for None."""
    return (data_dir or default_data_dir()).expanduser() / STORE_FILE
