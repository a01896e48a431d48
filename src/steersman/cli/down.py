"""``steersman down``: stop a control plane gracefully, and wait for its end."""

from __future__ import annotations

import os
import select
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from steersman.cli import values
from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.cli.selection import SelectionError, plane_name, select_plane
from steersman.controlplane.running_planes import running_directory, running_planes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.controlplane.running_planes import RunningPlane

_TIMEOUT_SECONDS: Final = 30.0


def run(arguments: Sequence[str]) -> int:
    """Stop a control plane; return the exit code: 1 if none runs, the choice is ambiguous, or it does not end in time."""
    parser = FlagParser("down", PAGES["down"])
    parser.add_argument(
        "name", nargs="?", metavar="NAME", type=plane_name, help="Name that the control plane was started with"
    )
    parser.add_argument("--data-dir", metavar="DIR", help="Data directory of the control plane to stop")
    parser.add_argument(
        "--all", type=values.boolean, nargs="?", const=True, default=False, metavar="BOOL", help="Stop all of yours"
    )
    parser.add_argument(
        "--timeout", type=values.duration, default=_TIMEOUT_SECONDS, metavar="TIME",
        help="Time to wait for the end (default 30s)",
    )  # fmt: skip
    args = parser.parse_args(arguments)
    planes = running_planes(running_directory())
    meant = planes if args.data_dir is None else [plane for plane in planes if _is_in(plane, args.data_dir)]
    if args.name is not None:
        try:
            meant = [select_plane(meant, args.name)]
        except SelectionError as error:
            sys.stderr.write(f"steersman: {error}\n")
            return 1
    if not meant:
        sys.stderr.write(f"steersman: no control plane of yours runs{_location(args.data_dir)}\n")
        return 1
    if len(meant) > 1 and not args.all:
        listing = "".join(f"  {plane.name or f'--data-dir={plane.data_dir or plane.kubeconfig}'}\n" for plane in meant)
        sys.stderr.write(f"steersman: {len(meant)} run; say which, or --all\n{listing}")
        return 1
    return max([_end(plane, args.timeout) for plane in meant])


def _location(data_dir: str | None) -> str:
    return "" if data_dir is None else f" in {data_dir}"


def _is_in(plane: RunningPlane, directory: str) -> bool:
    """Report whether the control plane's data, or for one in memory its kubeconfig, is in ``directory``."""
    named = Path(directory).expanduser().resolve()
    places = [Path(plane.kubeconfig), Path(plane.kubeconfig).parent]
    if plane.data_dir:
        places.append(Path(plane.data_dir))
    return named in [place.resolve() for place in places]


def _end(plane: RunningPlane, timeout_seconds: float) -> int:
    try:
        process = os.pidfd_open(plane.pid)
    except ProcessLookupError:
        return 0
    try:
        # The process ID belongs to the owner of the lock, unless it was reused after its exit.
        if plane not in running_planes(running_directory()):
            return 0
        signal.pidfd_send_signal(process, signal.SIGTERM)
        ended = select.poll()
        ended.register(process, select.POLLIN)
        if not ended.poll(timeout_seconds * 1000):
            sys.stderr.write(f"steersman: {plane.url} (process {plane.pid}) runs after {timeout_seconds:g} s yet\n")
            return 1
    finally:
        os.close(process)
    sys.stdout.write(f"{plane.url} has stopped{f'; its data is in {plane.data_dir}' if plane.data_dir else ''}\n")
    return 0
