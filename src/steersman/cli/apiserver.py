"""``steersman up`` and ``steersman apiserver``."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

import msgspec
import uvloop

from steersman.cli import logs
from steersman.cli.apiserver_flags import API_SERVER_FLAGS
from steersman.cli.flags import component_flags, parse, parser
from steersman.cli.reported_flags import flag_values
from steersman.cli.signals import ignore_signals
from steersman.controlplane.cyclic_garbage import limit_collections
from steersman.controlplane.option_checks import check_options
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.controlplane.process import die_with_parent, run_until_stopped
from steersman.controlplane.up import ComponentOptions, up

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steersman.controlplane.child_process import ChildProcess
    from steersman.controlplane.up import ControlPlane

_log = logging.getLogger(__name__)


def run(
    command: str,
    arguments: Sequence[str],
    *,
    begun_seconds: float | None = None,
    process: ChildProcess | None = None,
    announces: bool = True,
) -> int:
    """Run until a signal; return the exit code.

    ``begun_seconds``: start of the command by ``time.perf_counter``; ``process``: process of the components, if already
    spawned. ``announces``: list the control plane in ``steersman status``.
    """
    begun_seconds = time.perf_counter() if begun_seconds is None else begun_seconds
    options, parsed = parse(command, arguments)
    try:
        check_options(options)  # its warnings are logged by the start, which repeats the check
        components = component_options(parsed) if command == "up" else None
    except OptionError as error:
        parser(command).error(str(error))
    flags = flag_values(parsed, API_SERVER_FLAGS, APIServerOptions)
    options = msgspec.structs.replace(options, reported_flags=flags)
    logs.set_up(parsed.v, style=parsed.logging_format, modules=parsed.vmodule)
    for warning in parsed.warnings:
        _log.warning("%s", warning)
    if parsed.die_with_parent:
        die_with_parent()

    async def start() -> ControlPlane:
        running = await up(
            options,
            merge=parsed.merge,
            begun_seconds=begun_seconds,
            components=components,
            process=process,
            verbosity=parsed.v,
            logging_format=parsed.logging_format,
            announces=announces and parsed.parent_pipe is None,
        )
        limit_collections()
        return running

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        code = runner.run(run_until_stopped(start, parent_pipe=parsed.parent_pipe))
        ignore_signals(runner.get_loop())
    return code


def component_options(parsed: argparse.Namespace) -> ComponentOptions:
    """Return the options of the components that ``up`` runs besides the API server. Raises ``OptionError``."""
    return ComponentOptions(flags=component_flags(parsed), controllers=parsed.controllers or ("*",), wait=parsed.wait)
