"""Flags from a struct of options: one for each field, with its name, type and default."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
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
    from collections.abc import Callable, Coroutine, Iterable, Mapping

_log = logging.getLogger(__name__)

#: Allocations between runs of the garbage collector, which cannot free the many objects in caches.
_CONTAINERS_MAX: Final = 50_000

#: Help texts of common flags, by option.
COMMON_HELP: Final[dict[str, str]] = {
    "kubeconfig": "Kubeconfig of the cluster (default $KUBECONFIG, the service account of the pod, ~/.kube/config)",
    "leader_elect": "Run leader election, so that one of several processes is active",
    "leader_elect_lease_duration_seconds": "Time after which other candidates may take an unrenewed lease",
    "leader_elect_renew_deadline_seconds": "Time in which the leader must renew its lease before it stops leading",
    "leader_elect_retry_period_seconds": "Time between attempts to acquire or renew the lease",
    "leader_elect_resource_lock": "Type of the lock object: leases",
    "leader_elect_resource_name": "Name of the Lease",
    "leader_elect_resource_namespace": "Namespace of the Lease",
    "leader_elect_restart": "Contend again after the lease is lost, in place of exiting with code 1",
    "address": "IP address for /healthz and /metrics, in plain HTTP",
    "port": "Port for /healthz and /metrics, in plain HTTP without authentication; 0 for none",
}
_READERS: Final[dict[Any, Callable[[str], Any]]] = {
    bool: values.boolean,
    int: values.count,
    float: values.number,
    str: str,
    tuple: values.names,
    Path: values.path,
}


_READERS_BY_NAME: Final[dict[str, Callable[[str], Any]]] = {
    "address": values.ip,
    "kubelet_address": values.ip,
    "controllers": values.controllers,
    "kube_api_burst": values.positive,
    "percentage_of_nodes_to_score": values.percentage,
    "unhealthy_zone_threshold": values.fraction,
    "max_endpoints_per_slice": values.positive,
}
_SUFFIXES: Final[dict[str, Callable[[str], Any]]] = {
    "_seconds": values.duration,
    "port": values.port,
    "_syncs": values.positive,
    "_mask_size": values.prefix_length,
    "_mask_size_ipv4": values.prefix_length,
    "_mask_size_ipv6": values.prefix_length,
}


def add_options(parser: argparse.ArgumentParser, options: type[msgspec.Struct], texts: Mapping[str, str]) -> None:
    """Add a flag for each field; omitted flags set nothing. ``texts`` are the help texts by field.

    The value is checked by the type of the field, and by its name where ``_READERS_BY_NAME`` or ``_SUFFIXES`` has it.
    """
    for field in msgspec.structs.fields(options):
        kind = _plain_type(field.type)
        flag = field.name.removesuffix("_seconds").replace("_", "-")
        alone: dict[str, Any] = {"nargs": "?", "const": True} if kind is bool else {}
        parser.add_argument(
            f"--{flag}", dest=field.name, default=argparse.SUPPRESS, help=_help(field.name, field.default, texts),
            type=_reader(field.name, kind), metavar="BOOL" if alone else flag.rsplit("-", 1)[-1].upper(), **alone,
        )  # fmt: skip


def add_process_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of child processes."""
    process = parser.add_argument_group("process")
    process.add_argument("--die-with-parent", type=values.boolean, nargs="?", const=True, default=False,
                         metavar="BOOL", help="Stop when the parent process ends")  # fmt: skip
    process.add_argument("--parent-pipe", type=values.count, help=argparse.SUPPRESS)


def explicit_options(options: type[msgspec.Struct], parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the given fields of ``options``."""
    return {name: value for name, value in vars(parsed).items() if name in options.__struct_fields__}


def run_process(work: Coroutine[Any, Any, int], process: argparse.Namespace, *, warnings: Iterable[str] = ()) -> int:
    """Run a long-running command until it ends, with its logging and event loop; return the exit code.

    ``warnings`` about flags are logged first.
    """
    logs.set_up(process.v, style=process.logging_format, modules=process.vmodule)
    for warning in warnings:
        _log.warning("%s", warning)
    if process.die_with_parent:
        die_with_parent()
    _disable_created_series()
    gc.freeze()
    gc.set_threshold(_CONTAINERS_MAX)
    gc.enable()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.get_loop().set_exception_handler(log_loop_error)
        code = runner.run(work)
        ignore_signals(runner.get_loop())
    return code


def _disable_created_series() -> None:
    """Leave out the ``_created`` series of counters and histograms, which upstream's metrics do not have."""
    from prometheus_client import disable_created_metrics  # noqa: PLC0415 — the pages of help need no metrics

    disable_created_metrics()  # type: ignore[no-untyped-call]  # it is not annotated


def log_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log errors that the loop reports, except writes to connections that were closed during their TLS handshake.

    uvloop's ``SSLProtocol`` reports those as fatal errors; the request was cancelled, so no task is affected.
    """
    error = context.get("exception")
    if isinstance(error, RuntimeError) and str(error).endswith("the handler is closed"):
        return
    loop.default_exception_handler(context)


def _reader(name: str, kind: Any) -> Callable[[str], Any]:
    if name in _READERS_BY_NAME:
        return _READERS_BY_NAME[name]
    return next((read for suffix, read in _SUFFIXES.items() if name.endswith(suffix)), _READERS[kind])


def _plain_type(annotation: Any) -> Any:
    """Return the type without None and without the parameters of a container."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return _plain_type(next(part for part in typing.get_args(annotation) if part is not types.NoneType))
    return typing.get_origin(annotation) or annotation


def _help(name: str, default: Any, texts: Mapping[str, str]) -> str:
    if name.startswith("concurrent_") or "_concurrent_" in name:
        text = "Number of objects that are synced concurrently"
    else:
        text = texts.get(name, name.removesuffix("_seconds").replace("_", " ").capitalize())
    if default is None or default is msgspec.NODEFAULT or default == "":
        return text
    unit = "s" if name.endswith("_seconds") else ""
    return f"{text} (default {values.as_text(default)}{unit})"
