"""Flags from a struct of options: one for each field, named, read and explained by what the field says."""

from __future__ import annotations

import argparse
import asyncio
import gc
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import uvloop

from steersman.cli import logs, values
from steersman.cli.signals import ignore_signals
from steersman.controlplane.process import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

#: New containers until the collector looks for cycles: caches are full of objects that it would look at in vain.
_CONTAINERS_MAX: Final = 50_000

_READERS: Final[dict[Any, Callable[[str], Any]]] = {
    bool: values.boolean,
    int: values.count,
    float: values.number,
    str: str,
    tuple: values.names,
    Path: lambda text: Path(text).expanduser(),
}


def add_options(parser: argparse.ArgumentParser, options: type[msgspec.Struct], texts: Mapping[str, str]) -> None:
    """A flag for each field; those that are not given are left out of what is parsed. ``texts`` explain them."""
    for field in msgspec.structs.fields(options):
        kind = _plain_type(field.type)
        is_duration = field.name.endswith("_seconds")
        flag = field.name.removesuffix("_seconds").replace("_", "-")
        alone: dict[str, Any] = {"nargs": "?", "const": True} if kind is bool else {}
        parser.add_argument(
            f"--{flag}", dest=field.name, default=argparse.SUPPRESS, help=_help(field.name, field.default, texts),
            type=values.duration if is_duration else _READERS[kind], metavar=flag.rsplit("-", 1)[-1].upper(), **alone,
        )  # fmt: skip


def add_process_flags(parser: argparse.ArgumentParser) -> None:
    """Those of any long-running command."""
    process = parser.add_argument_group("process")
    process.add_argument("--die-with-parent", action="store_true", help="stop when the process that started it ends")
    process.add_argument("--parent-pipe", type=values.count, help=argparse.SUPPRESS)
    process.add_argument("--logging-format", choices=logs.FORMATS, default="text", help="how lines of the log look")
    process.add_argument("--v", "-v", type=values.count, default=0, metavar="LEVEL", help="how much is logged: 0 to 4")


def given(options: type[msgspec.Struct], parsed: argparse.Namespace) -> dict[str, Any]:
    """What was said of the options."""
    return {name: value for name, value in vars(parsed).items() if name in options.__struct_fields__}


def run_process(work: Coroutine[Any, Any, int], process: argparse.Namespace) -> int:
    """Run until it ends, with logs, a collector and a loop as long-running commands have them; returns its exit code."""
    logs.set_up(process.v, style=process.logging_format)
    if process.die_with_parent:
        die_with_parent()
    gc.freeze()
    gc.set_threshold(_CONTAINERS_MAX)
    gc.enable()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.get_loop().set_exception_handler(log_loop_error)
        code = runner.run(work)
        ignore_signals(runner.get_loop())
    return code


def log_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what the loop reports, except writes to connections that were closed during their TLS handshake.

    uvloop's ``SSLProtocol`` reports those as fatal errors; the request was cancelled, so no task is concerned.
    """
    error = context.get("exception")
    if isinstance(error, RuntimeError) and str(error).endswith("the handler is closed"):
        return
    loop.default_exception_handler(context)


def _plain_type(annotation: Any) -> Any:
    """Without None, and without what a container holds."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return _plain_type(next(part for part in typing.get_args(annotation) if part is not types.NoneType))
    return typing.get_origin(annotation) or annotation


def _help(name: str, default: Any, texts: Mapping[str, str]) -> str:
    if name.startswith("concurrent_") or "_concurrent_" in name:
        text = "keys that are worked on at the same time"
    else:
        text = texts.get(name, name.removesuffix("_seconds").replace("_", " "))
    if default is None or default is msgspec.NODEFAULT or default == "":
        return text
    shown = ",".join(default) if isinstance(default, tuple) else str(default)
    unit = "s" if name.endswith("_seconds") else ""
    return f"{text} (default {shown.lower() if isinstance(default, bool) else shown}{unit})"
