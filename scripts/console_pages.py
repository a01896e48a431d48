"""Console blocks of documentation pages: read their commands, run them, and compare or replace the output shown.

A block is fenced as ``console``; lines that start with ``$ `` are commands, the lines below a command are its output.
Blocks of ``make`` are instructions for a checkout and are left alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = "$ "
#: The last line that ``steersman up`` prints names the command that stops it.
_UP_ENDS = "steersman down"
_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+")
_COMMAND_SECONDS = 240
_STOP_SECONDS = 120

#: kubectl prints these lines while it waits: their number depends on timing, or on the node of a pod.
_PROGRESS = re.compile(r"^(Waiting for |evicting pod |pod/\S+ evicted$)")
#: Parts of the output that differ between runs, and what they are compared as.
_VARYING = (
    (re.compile(r"\b(\d+\.\d+ s|\d+(\.\d+)?(ms|s|m|h|d)(\d+s|\d+m|\d+h)?)(?![\w.])"), "<time>"),
    (re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "<suffix>"),
    (re.compile(r"\b(?!127\.0\.0\.1)\d+\.\d+\.\d+\.\d+\b"), "<ip>"),
    (re.compile(r"(?<![\w.])v?\d+\.\d+\.\d+\b(?!\.)"), "<version>"),
    (re.compile(r"(?<=^node )node-\d+(?= is Ready)"), "<node>"),  # any node may be the first
    (re.compile(r"(?<=process )\d+"), "<pid>"),
    (re.compile(r"\S+_[0-9a-f]{8}-[0-9a-f-]{27}\b"), "<identity>"),
    (re.compile(r" from \S+ namespace$"), ""),  # kubectl 1.34 and newer
    (re.compile(r"  +"), "  "),
)


@dataclass
class Entry:
    """A command and the output shown below it."""

    command: str
    output: list[str] = field(default_factory=list)


def entries(page: str) -> list[Entry]:
    """Return the commands of a page, in its order."""
    return [entry for block in _BLOCK.findall(page) for entry in _entries_of(block)]


def replace_outputs(page: str, outputs: list[str]) -> str:
    """Return the page with ``outputs`` below its commands, one for each of ``entries``."""
    remaining = iter(outputs)

    def block(match: re.Match[str]) -> str:
        section_entries = _entries_of(match[1])
        if not section_entries:
            return match[0]
        lines = [
            line for entry in section_entries for line in (_COMMAND + entry.command, *next(remaining).splitlines())
        ]
        return "\n".join(["```console", *(line.rstrip() for line in lines), "```"])

    return _BLOCK.sub(block, page)


def comparable(output: str) -> list[str]:
    """Return the lines of an output that are equal in all runs: without progress, sorted, varying parts replaced."""
    lines = []
    for line in output.splitlines():
        if _PROGRESS.match(line) or not line.strip():
            continue
        for pattern, replacement in _VARYING:
            line = pattern.sub(replacement, line)
        lines.append(line.rstrip())
    return sorted(lines)


def _entries_of(block: str) -> list[Entry]:
    entries: list[Entry] = []
    for line in block.splitlines():
        if line.startswith(_COMMAND):
            entries.append(Entry(line.removeprefix(_COMMAND)))
        elif entries:
            entries[-1].output.append(line)
    return [] if entries and entries[0].command.startswith("make ") else entries


class Terminal:
    """Two terminals in an empty home directory: one in which ``steersman up`` runs, one for all other commands."""

    def __init__(self, home: Path) -> None:
        self._home = home
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        dropped = ("KUBECONFIG", "XDG_STATE_HOME")
        inherited = {name: value for name, value in os.environ.items() if name not in dropped}
        self._environment = {**inherited, "HOME": str(home), "PATH": path}
        self._up: subprocess.Popen[str] | None = None
        self._exports = ""

    def run(self, command: str) -> str:
        """Run a command and return its output, with ``~`` for the home and the default port. Raises CalledProcessError.

        ``steersman up`` keeps running; its output is what it prints until it is ready.
        """
        if command.startswith("export "):
            self._exports += f"{command}; "
            return ""
        output = self._start(command) if command.startswith("steersman up") else self._run(command)
        return _PORT.sub("6443", output.replace(str(self._home), "~"))

    def _run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {self._exports}{command}"],
            env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            timeout=_COMMAND_SECONDS,
        )  # fmt: skip
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, command, done.stdout)
        return done.stdout

    def _start(self, command: str) -> str:
        # Port 0, because the default port may be in use on this machine; the output shows the default.
        self._up = subprocess.Popen(
            ["bash", "-c", f"exec {command} --port 0"],
            env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self._up.stdout is not None
        lines: list[str] = []
        for line in self._up.stdout:
            lines.append(line)
            if _UP_ENDS in line:
                return "".join(lines)
        raise RuntimeError(f"{command} ended while it started: {''.join(lines)}")

    def wait_stopped(self) -> int:
        """Wait until ``steersman up`` has ended, and return its exit code."""
        assert self._up is not None
        return self._up.wait(_STOP_SECONDS)

    def close(self) -> None:
        """Stop ``steersman up``. Idempotent."""
        if self._up is None:
            return
        self._up.terminate()
        self._up.wait(_STOP_SECONDS)
        assert self._up.stdout is not None
        self._up.stdout.close()


def run_page(page: str, home: Path) -> list[str]:
    """Run all commands of a page in an empty home directory and return their outputs. Raises CalledProcessError."""
    terminal = Terminal(home)
    try:
        return [terminal.run(entry.command) for entry in entries(page)]
    finally:
        terminal.close()
