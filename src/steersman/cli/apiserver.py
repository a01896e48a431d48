"""``steersman up`` and ``steersman apiserver``."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import TYPE_CHECKING, Final

import uvloop

from steersman.cli import logs
from steersman.cli.flags import companion_flags, parse, parser
from steersman.controlplane.option_checks import check_options
from steersman.controlplane.options import OptionError
from steersman.controlplane.process import die_with_parent, run_until_stopped
from steersman.controlplane.up import up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.controlplane.up import ControlPlane

#: New containers until the collector looks for cycles among them; requests hardly make any.
_GARBAGE_MAX: Final = 10_000


def run(command: str, arguments: Sequence[str]) -> int:
    """Run until a signal; return the exit code."""
    begun_seconds = time.perf_counter()
    options, process = parse(command, arguments)
    try:
        check_options(options)  # its warnings are logged at the start, which checks again
        companions = companion_flags(process) if command == "up" else None
    except OptionError as error:
        parser(command).error(str(error))
    logs.set_up(process.v, style=process.logging_format)
    if process.die_with_parent:
        die_with_parent()

    async def start() -> ControlPlane:
        running = await up(
            options,
            merge=process.merge,
            begun_seconds=begun_seconds,
            companions=companions,
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
