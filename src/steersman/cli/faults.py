"""``steersman faults``: faults in the request path of a cluster that the test kit started, from a shell."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from steersman.cli import values
from steersman.cli.flag_parser import FlagParser
from steersman.cli.help_pages import PAGES
from steersman.testing.faults import CONNECTION_FAULTS
from steersman.testing.host.channel import SOCKET_NAME, Call, ChannelError, call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CALL_SECONDS: Final = 60.0
#: Flags that select requests or watches.
_PATTERNS: Final = ("verb", "resource", "name", "namespace", "user-agent")
#: Flags by action.
_FLAGS: Final = {
    "add": (*_PATTERNS, "respond", "delay", "stale", "after", "times", "probability", "optional"),
    "partition": (),
    "list": (),
    "remove": (),
    "cut-watches": _PATTERNS,
    "expire-watches": _PATTERNS,
    "clear": (),
}
_OPERANDS: Final = {"partition": "a component or user agent", "remove": "the number of a fault"}
#: Fields of a fault whose flags have other names.
_FIELDS: Final = {"user-agent": "user_agent", "delay": "delay_seconds", "stale": "stale_seconds"}


class _CallError(Exception):
    """The cluster cannot be reached, or rejects the request."""


def run(arguments: Sequence[str]) -> int:
    """Run the action; return the exit code: 1 if the cluster is unreachable or refuses the fault."""
    parser = _parser()
    args = parser.parse_args(arguments)
    action, operand = args.action, args.operand
    if action not in _FLAGS:
        parser.error(f'unknown action "{action}", expected one of {", ".join(_FLAGS)}')
    flags = {flag: value for flag, value in vars(args).items() if flag in _FLAGS["add"]}
    for flag in flags:
        if flag not in _FLAGS[action]:
            parser.error(f"--{flag} is not a flag of {action}")
    if action in _OPERANDS and operand is None:
        parser.error(f"{action} needs {_OPERANDS[action]}")
    if action not in _OPERANDS and operand is not None:
        parser.error(f'unexpected argument "{operand}"')
    if action == "remove" and not operand.isdecimal():
        parser.error(f'"{operand}" is not the number of a fault')
    fields = {_FIELDS.get(flag, flag): value for flag, value in flags.items()}
    try:
        text = _act(_socket_beside(args.kubeconfig), action, operand, fields)
    except _CallError as error:
        sys.stderr.write(f"steersman: {error}\n")
        return 1
    sys.stdout.write(f"{text}\n")
    return 0


def _parser() -> FlagParser:
    parser = FlagParser("faults", PAGES["faults"])
    parser.usage = "steersman faults ACTION [OPERAND] [FLAGS]"
    parser.add_argument("action", metavar="ACTION", help=f"One of {', '.join(_FLAGS)}")
    parser.add_argument("operand", nargs="?", metavar="OPERAND",
                        help="Of partition: controller-manager, scheduler, nodes or a user agent. Of remove: a number of list")  # fmt: skip
    parser.add_argument("--kubeconfig", type=values.path, metavar="FILE",
                        help="Kubeconfig of the cluster (default $KUBECONFIG)")  # fmt: skip
    for flag, type_, text in (
        ("verb", str, "Verb of the requests: get, list, watch, create, update, patch, delete, …"),
        ("resource", str, "Resource: pods, deployments.apps, pods/status"),
        ("name", str, "Name of the object"),
        ("namespace", str, "Namespace of the object"),
        ("user-agent", str, "Beginning or pattern of the user agent"),
        ("respond", str, f"Status code, or one of {', '.join(CONNECTION_FAULTS)}"),
        ("delay", values.number, "Seconds that requests wait"),
        ("stale", values.number, "Seconds that the watch cache lags behind for reads"),
        ("after", values.count, "Number of requests that are spared at first"),
        ("times", values.positive, "Number of requests that fail (default all)"),
        ("probability", values.fraction, "Probability that a request fails (default 1)"),
    ):
        parser.add_argument(f"--{flag}", dest=flag, type=type_, default=argparse.SUPPRESS, help=text)
    parser.add_argument("--optional", type=values.boolean, nargs="?", const=True, default=argparse.SUPPRESS, metavar="BOOL",
                        help="The test does not fail if no request was hit")  # fmt: skip
    return parser


def _socket_beside(kubeconfig: Path | None) -> Path:
    """Return the socket of the cluster of a kubeconfig. Raises ``_CallError``."""
    path = kubeconfig or Path(os.environ.get("KUBECONFIG", "").partition(os.pathsep)[0])
    if not path.name:
        raise _CallError("no cluster: set $KUBECONFIG or --kubeconfig to the kubeconfig of a cluster of the test kit")
    calls = path.parent / SOCKET_NAME
    if not calls.is_socket():
        raise _CallError(f"{path} is not the kubeconfig of a running cluster of the test kit")
    return calls


def _act(path: Path, action: str, operand: str | None, fields: Mapping[str, Any]) -> str:
    """Perform the command, and return its message. Raises ``_CallError``."""
    match action:
        case "add" | "partition":
            number = _call(path, f"faults.{action}", **(fields if action == "add" else {"component": operand}))
            return f"fault {number}: {_call(path, 'faults.describe', number=number)['text']}"
        case "list":
            return "\n".join(map(_line, _call(path, "faults.list"))) or "no faults"
        case "remove":
            _call(path, "faults.remove", number=int(operand or ""))
            return f"fault {operand} is removed"
        case "clear":
            _call(path, "faults.clear")
            return "all faults are removed"
        case _:
            return f"{_call(path, f'faults.{action}'.replace('-', '_'), **fields)} watches"


def _line(fault: Mapping[str, Any]) -> str:
    ended = "" if fault["is_active"] else ", ended"
    return f"fault {fault['number']}: {fault['text']} ({fault['hits']} hits{ended})"


def _call(path: Path, method: str, **arguments: Any) -> Any:
    """Return the result of a method of the cluster. Raises ``_CallError``."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_CALL_SECONDS)
            connection.connect(str(path))
            answer, _ = call(connection, Call(method, arguments))
    except (OSError, ChannelError) as error:
        raise _CallError(f"the cluster of {path.parent} does not answer: {error}") from error
    if answer.error:
        raise _CallError(answer.message)
    return answer.result
