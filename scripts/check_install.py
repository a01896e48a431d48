"""Use an installed steersman: ``python -I scripts/check_install.py EXTRA...`` with the extras that were installed.

Imports the toolkit, starts and stops the components that the extras suffice for, and checks that the packages of the
other extras are absent. Prints the size of the environment. Needs only the environment of the interpreter that runs it.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("steersman"))
TOOLKIT = ("steersman.client", "steersman.runtime", "steersman.client.leaderelection", "lightkube.models.core_v1")
ALL = {"server", "toolkit"}


def check_packages(extras: set[str]) -> None:
    from steersman.extras import PACKAGES  # noqa: PLC0415 — of the environment under test

    for extra, packages in PACKAGES.items():
        for package in packages:
            spec = find_spec(package)
            is_there = spec is not None and spec.origin is not None
            assert is_there == (extra in extras), f"{package}: {'there' if is_there else 'missing'} with {extras}"


def check_toolkit() -> None:
    for name in TOOLKIT:
        module = importlib.import_module(name)
        for exported in getattr(module, "__all__", ()):
            getattr(module, exported)


def check_start(command: str) -> None:
    """Start a command on any port, and stop it once it is ready."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "XDG_STATE_HOME": home, "HOME": home}
        arguments = [COMMAND, command, "--port=0", f"--data-dir={home}/data"]
        with subprocess.Popen(arguments, env=environment, cwd=home, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert any(" is ready at " in line for line in process.stdout), f"{command} ended while it started"
            process.send_signal(signal.SIGTERM)
            code = process.wait(60)
        assert code == 0, f"{command} ended with {code}"


def check_refusal(command: str) -> None:
    """Check that a command whose extra is missing reports it in one line."""
    done = subprocess.run([COMMAND, command], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1, done
    assert done.stderr.endswith("pip install 'steersman-slim[server,toolkit]'\n"), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def size() -> str:
    """Return the MB of all distributions but pip and setuptools, as installed."""
    files = [
        file.locate()
        for distribution in distributions()
        if distribution.metadata["Name"] not in {"pip", "setuptools"}
        for file in distribution.files or ()
    ]
    return f"{sum(os.path.getsize(file) for file in files if os.path.isfile(file)) / 1e6:.0f} MB"


def main() -> None:
    extras = set(sys.argv[1:])
    print(subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True).stdout.strip(), size())
    check_packages(extras)
    if "toolkit" in extras:
        check_toolkit()
    if "server" in extras:
        check_start("apiserver")
    if extras == ALL:
        check_start("up")
    else:
        check_refusal("up")


if __name__ == "__main__":
    main()
