"""Ends what containers have started when the process that watches over them is gone, however it went.

Run as a program of its own that reads lines from standard input: ``+123`` and ``-123`` say that process group 123 has
come and gone. When the input ends, every group that is left is killed, and the folder that the command line names is
removed. It imports nothing of ours: it must be small.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys


def main() -> None:
    """Until the input ends."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    for folder in sys.argv[1:]:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
