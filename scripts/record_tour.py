"""Runs the commands of docs/tour.md against a control plane of its own, and draws docs/tour.svg of what they say.

Needs rich. ``python scripts/record_tour.py``; the test of the page reads its commands with ``commands``.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tour.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: What the picture shows, by how commands begin; all of them would be too long.
_SHOWN = (
    "steersman up", "kubectl get nodes", "kubectl create deployment", "kubectl get pods", "kubectl drain",
    "kubectl scale", "steersman status", "steersman down",
)  # fmt: skip
_LINES_MAX = 12


def commands(text: str) -> list[str]:
    """Those of the page, in its order."""
    return [line[2:] for block in _BLOCK.findall(text) for line in block.splitlines() if line.startswith("$ ")]


class Terminal:
    """A home without anything in it, a control plane that runs there, and a shell beside it."""

    def __init__(self, home: Path) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        left_out = ("KUBECONFIG", "XDG_STATE_HOME")
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        self.environment = {**kept, "HOME": str(home), "PATH": path}
        self.up: subprocess.Popen[str] | None = None
        self.exports = ""

    def run(self, command: str) -> str:
        """What it says; ``steersman up`` stays, and is waited for until pods can run. Raises CalledProcessError."""
        if command.startswith("steersman up"):
            return self._start(command)
        if command.startswith("export "):
            self.exports += f"{command}; "
            return ""
        done = subprocess.run(
            ["bash", "-c", f"{self.exports}{command}"],
            env=self.environment, capture_output=True, text=True, check=False, timeout=180,
        )  # fmt: skip
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
        return done.stdout

    def _start(self, command: str) -> str:
        # Any port will do: the usual one may be taken on the machine.
        self.up = subprocess.Popen(
            ["bash", "-c", f"exec {command} --port 0"],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.up.stdout is not None
        said = []
        for line in self.up.stdout:
            said.append(line)
            if " is Ready after " in line:
                return "".join(said)
        raise RuntimeError("the control plane ended while it started")

    def close(self) -> None:
        if self.up is not None:
            self.up.terminate()
            self.up.wait(30)
            assert self.up.stdout is not None
            self.up.stdout.close()


def main() -> None:
    from rich.console import Console  # noqa: PLC0415 — the test of the page needs no rich
    from rich.text import Text  # noqa: PLC0415 — as above

    console = Console(record=True, width=118, file=io.StringIO())
    with tempfile.TemporaryDirectory() as home:
        terminal = Terminal(Path(home))
        try:
            for command in commands(PAGE.read_text()):
                said = terminal.run(command).replace(home, "~")
                if not command.startswith(_SHOWN):
                    continue
                console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
                lines = said.splitlines()
                left = len(lines) - _LINES_MAX
                more = [f"… {left} lines more"] if left > 0 else []
                console.print(
                    Text("\n".join([*lines[:_LINES_MAX], *more])), soft_wrap=False, overflow="ellipsis", no_wrap=True
                )
        finally:
            terminal.close()
    (ROOT / "docs" / "tour.svg").write_text(console.export_svg(title="steersman", unique_id="tour"))


if __name__ == "__main__":
    main()
