"""Fork server with small targets, for the tests: ``python program.py [--listen=PATH] FD``."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steersman.testing.forkserver.server import ForkServer


def write(arguments: dict[str, Any], descriptors: Sequence[int]) -> int:
    os.write(descriptors[0], arguments["text"].encode())
    return int(arguments.get("code", 0))


def wait(arguments: dict[str, Any], descriptors: Sequence[int]) -> int:
    """Create a file in the directory, and wait for a signal."""
    if arguments.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    directory = Path(arguments["directory"])
    directory.mkdir()
    (directory / "file").touch()
    os.write(descriptors[0], b"ready")
    while True:
        signal.pause()


def fail(arguments: dict[str, Any], descriptors: Sequence[int]) -> int:
    os.dup2(descriptors[0], 2)
    raise ValueError("a planted failure")


def write_process(arguments: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Write the process id, and leave a thread if the arguments say so."""
    os.write(descriptors[0], f"{os.getpid()} ".encode())
    if arguments.get("thread"):
        threading.Thread(target=threading.Event().wait, daemon=True).start()


def main() -> None:
    connection = socket.socket(fileno=int(sys.argv[1]))
    targets = {"write": write, "wait": wait, "fail": fail, "prepared": write}
    ForkServer(targets, main=connection, before_fork={"prepared": write_process}).run()


if __name__ == "__main__":
    main()
