"""Data directories of ``check``, ``repair`` and ``backup``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.cli import values
from steersman.cli.selection import plane_name
from steersman.controlplane.options import default_data_dir

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

STORE_FILE: Final = "state.db"


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    """Add ``--data-dir`` and ``--name``."""
    parser.add_argument(
        "--data-dir",
        type=values.path,
        metavar="DIR",
        help="Data directory of the API server (default in the user's state directory)",
    )
    parser.add_argument("--name", type=plane_name, help="Name of the control plane, to use its data directory")


def store_path(parsed: argparse.Namespace) -> Path:
    """Return the path of the store selected by the flags of ``add_data_dir``."""
    directory: Path = parsed.data_dir or default_data_dir(parsed.name or "")
    return directory / STORE_FILE
