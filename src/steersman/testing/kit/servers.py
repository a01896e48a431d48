"""Fork server of this process: spawned on first use, ended with the process."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Final

from steersman.testing.forkserver.client import ForkServerProcess

_MODULE: Final = "steersman.testing.host"
_lock: Final = threading.Lock()
#: Fork server by process ID: a process forked from this one starts its own.
_servers: Final[dict[int, ForkServerProcess]] = {}


def fork_server() -> ForkServerProcess:
    """Return the fork server; spawn it on first use. Raises ``OSError``."""
    with _lock:
        server = _servers.get(os.getpid())
        if server is None:
            server = _servers[os.getpid()] = ForkServerProcess.spawn("-m", _MODULE)
            atexit.register(close_fork_server)
        return server


def close_fork_server() -> None:
    """Stop the fork server and all clusters. Idempotent; the next cluster spawns a new fork server."""
    with _lock:
        server = _servers.pop(os.getpid(), None)
    if server is not None:
        server.close()
