"""Ports for servers that cannot listen on port 0, as others must know their address before."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST = 10_000


def free_port() -> int:
    """Return a port that is free, below those that the kernel gives to connections: only another call may return it, too."""
    end = int(_RANGE_FILE.read_text().split()[0]) if _RANGE_FILE.exists() else 32_768
    while True:
        # Not from ``random``, which tests seed alike in all processes.
        port = _FIRST + secrets.randbelow(end - _FIRST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
