"""Interpreter of the container commands that the simulated kubelet supports: duration, exit code and output.

``echo``, ``printf`` without directives, ``true``, ``:``, ``false``, ``sleep`` and ``exit``, alone or as a script of a
shell (``sh -c``) that joins them by ``;``, ``&&``, ``||`` and newlines, with output to ``/dev/null`` or to the termination
log. A script with any other command is not interpreted at all.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.nodes.expansion import expand
from steersman.nodes.simulation.shell import UnsupportedScriptError, parse_script
from steersman.nodes.termination_message import termination_log_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.simulation.shell import Redirection


_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})
_SHELL_OPTIONS: Final = re.compile(r"-[eux]*c")
_SET_OPTIONS: Final = re.compile(r"-[eux]+")
_ECHO_OPTIONS: Final = re.compile(r"-[neE]+")
_SLEEP: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([smhd]?)")
_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Program(NamedTuple):
    """Duration, output and end of one run of a container."""

    #: Duration; None if it runs until stopped.
    seconds: float | None
    exit_code: int = 0
    #: Reason of the terminated state; empty: ``Completed`` or ``Error`` by the exit code.
    reason: str = ""
    #: Output: seconds since the start, and the text.
    output: tuple[tuple[float, str], ...] = ()
    #: Contents of the termination log at the end.
    termination_log: str = ""


#: Program that runs until stopped.
FOREVER: Final = Program(None)


class _Exit(Exception):  # noqa: N818 — control flow of ``exit``
    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


def program_of(container: Tree) -> Program | None:
    """Return the program of the container's command; None if it has none, or it is not supported."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if not words:
        return None
    variables = {
        variable["name"]: variable.get("value") or ""
        for variable in container.get("env") or ()
        if not variable.get("valueFrom")
    }
    expanded = tuple(expand(word, variables) for word in words)
    return _interpret(expanded, tuple(sorted(variables.items())), termination_log_path(container))


@lru_cache(maxsize=1024)
def _interpret(words: tuple[str, ...], variables: tuple[tuple[str, str], ...], termination_log: str) -> Program | None:
    run = _Run(termination_log)
    try:
        code = run.shell(words, dict(variables)) if _base(words[0]) in _SHELLS else run.command(words)
    except UnsupportedScriptError:
        return None
    except _Exit as end:
        code = end.code
    return Program(None if run.is_endless else run.seconds, code, "", tuple(run.output), run.termination_log)


def _base(path: str) -> str:
    return path.rpartition("/")[2]


class _Run:
    """Elapsed time and output of the commands run so far."""

    def __init__(self, termination_log_path: str) -> None:
        self.seconds = 0.0
        self.is_endless = False
        self.output: list[tuple[float, str]] = []
        self.termination_log = ""
        self._termination_log_path = termination_log_path

    def shell(self, words: Sequence[str], variables: Mapping[str, str]) -> int:
        """Run ``sh -c SCRIPT``; return its exit code. Raises UnsupportedScriptError."""
        if len(words) < 3 or not _SHELL_OPTIONS.fullmatch(words[1]):
            raise UnsupportedScriptError
        code, stops_at_error = 0, "e" in words[1]
        for operator, command, ends_list, redirection in parse_script(words[2], variables):
            # Skipped commands are checked too: a script is supported as a whole or not at all.
            is_skipped = self.is_endless or (operator == "&&" and code != 0) or (operator == "||" and code == 0)
            if command[0] == "set" and redirection is None and all(map(_SET_OPTIONS.fullmatch, command[1:])):
                if not is_skipped:
                    code, stops_at_error = 0, stops_at_error or any("e" in word for word in command[1:])
            elif is_skipped:
                _Run(self._termination_log_path).try_command(command, redirection)
            else:
                code = self._redirected(command, redirection)
                if code and stops_at_error and ends_list:
                    return code
        return code

    def try_command(self, words: Sequence[str], redirection: Redirection | None) -> None:
        """Check that a skipped command is supported. Raises UnsupportedScriptError."""
        try:
            self._redirected(words, redirection)
        except _Exit:
            return

    def _redirected(self, words: Sequence[str], redirection: Redirection | None) -> int:
        """Run one command of a script; return its exit code. Raises UnsupportedScriptError for output to other files."""
        if redirection is None:
            return self.command(words, in_shell=True)
        if redirection.path not in ("/dev/null", self._termination_log_path):
            raise UnsupportedScriptError
        start = len(self.output)
        code = self.command(words, in_shell=True)
        text = "".join(text for _, text in self.output[start:])
        del self.output[start:]
        if redirection.path == self._termination_log_path:
            self.termination_log = self.termination_log + text if redirection.appends else text
        return code

    def command(self, words: Sequence[str], *, in_shell: bool = False) -> int:
        """Run one command; return its exit code. Raises UnsupportedScriptError."""
        arguments = list(words[1:])
        match _base(words[0]):
            case "echo":
                self._echo(arguments)
            case "printf" if len(arguments) == 1 and "%" not in arguments[0]:
                self.output.append((self.seconds, arguments[0].replace("\\n", "\n").replace("\\t", "\t")))
            case "true" | ":":
                return 0
            case "false":
                return 1
            case "sleep" if arguments:
                self._sleep(arguments)
            case "exit" if in_shell and len(arguments) <= 1:
                raise _Exit(_exit_code(arguments))
            case _:
                raise UnsupportedScriptError
        return 0

    def _echo(self, arguments: list[str]) -> None:
        ends_line = arguments[:1] != ["-n"]
        if ends_line and arguments and _ECHO_OPTIONS.fullmatch(arguments[0]):
            raise UnsupportedScriptError
        text = " ".join(arguments if ends_line else arguments[1:])
        self.output.append((self.seconds, text + ("\n" if ends_line else "")))

    def _sleep(self, arguments: Sequence[str]) -> None:
        for argument in arguments:
            match = _SLEEP.fullmatch(argument)
            if argument in ("infinity", "inf"):
                self.is_endless = True
            elif match is None:
                raise UnsupportedScriptError
            else:
                self.seconds += float(match[1]) * _UNITS[match[2]]


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        return int(arguments[0]) % 256 if arguments else 0
    except ValueError:
        raise UnsupportedScriptError from None
