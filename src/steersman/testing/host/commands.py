"""Programs that the fork server starts for a test, and that end with the test's process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Exit codes of shells for programs that cannot be run.
EXIT_CANNOT_RUN = 127


def run_command(arguments: dict[str, Any], descriptors: Sequence[int]) -> int:
    """Replace this process by a program that leads its own process group. The descriptor is its output."""
    command = arguments["command"]
    os.setsid()
    os.dup2(descriptors[0], 1)
    os.dup2(descriptors[0], 2)
    try:
        os.chdir(arguments["directory"])
        os.execvpe(command[0], command, arguments["environment"])  # noqa: S606 — command of the test
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
    return EXIT_CANNOT_RUN
