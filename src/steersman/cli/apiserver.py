"""``steersman up`` and ``steersman apiserver``."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import TYPE_CHECKING, Final

import uvloop

from steersman.cli import logs
from steersman.cli.flags import companion_flags, parse
from steersman.controlplane.process import die_with_parent, run_until_stopped
from steersman.controlplane.up import up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.controlplane.up import ControlPlane

_DESCRIPTIONS: Final = {
    "up": "Start a whole control plane, and say how to reach it. Ctrl-C stops it.",
    "apiserver": "Start an API server alone.",
}
#: New containers until the collector looks for cycles among them; requests hardly make any.
_GARBAGE_MAX: Final = 10_000


def run(command: str, arguments: Sequence[str]) -> int:
    """Runs until a signal; returns the exit code."""
    begun_seconds = time.perf_counter()
    options, process = parse(command, _DESCRIPTIONS[command], arguments)
    logs.set_up(process.v, style=process.logging_format)
    if process.die_with_parent:
        die_with_parent()

    async def start() -> ControlPlane:
        running = await up(
            options,
            merge=process.merge,
            begun_seconds=begun_seconds,
            companions=companion_flags(process) if command == "up" else None,
            verbosity=process.v,
            logging_format=process.logging_format,
            announces=process.parent_pipe is None,  # what another program keeps is no business of the user's
        )
        # What is there now stays: the collector need not look at it ever again.
        gc.freeze()
        gc.set_threshold(_GARBAGE_MAX)
        gc.enable()
        return running

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run_until_stopped(start, parent_pipe=process.parent_pipe))
