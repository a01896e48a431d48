"""Ports for servers that cannot listen on port 0, as others must know their address before."""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
import tempfile
from functools import lru_cache
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST = 10_000
#: Ports of one process.
_BLOCK = 500


def free_port() -> int:
    """Return a port that is free, below those that the kernel gives to connections.

    Each process has a block of ports of its own and goes through it in turns, so that no other call returns the port before it
    is in use. Raises ``RuntimeError`` if all blocks are taken, or all ports of the block in use.
    """
    for port in islice(_ports_of(os.getpid()), _BLOCK):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"all {_BLOCK} ports of this process are in use")


@lru_cache(maxsize=1)
def _ports_of(_pid: int) -> Iterator[int]:
    """Take a block that no other process has; return its ports, again and again. A forked process takes another one."""
    end = int(_RANGE_FILE.read_text().split()[0]) if _RANGE_FILE.exists() else 32_768
    count = (end - _FIRST) // _BLOCK
    first = secrets.randbelow(count)  # not from ``random``, which tests seed alike in all processes
    for number in range(count):
        block = (first + number) % count
        if _is_taken(block):
            continue
        begin = _FIRST + block * _BLOCK
        return cycle(range(begin, begin + _BLOCK))
    raise RuntimeError(f"all {count} blocks of {_BLOCK} ports are taken by other processes")


def _is_taken(block: int) -> bool:
    """Lock the file of a block until this process ends; return True if another process has it locked."""
    directory = Path(tempfile.gettempdir()) / f"steersman-ports-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(directory / str(block), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return True
    return False
