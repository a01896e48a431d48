"""Profiles and verbosity of the log on a Unix socket, without authentication (``--debug-socket-path``).

It answers also when authentication or authorization does not. Upstream: ``DebugSocket`` of ``k8s.io/apiserver/pkg/server/routes``.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from steersman.apimachinery.gotext import errno_text
from steersman.controlplane.component_pages import add_debug_flags
from steersman.controlplane.options import OptionError
from steersman.runtime import profiling
from steersman.runtime.http import HttpServer, ListenError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from steersman.asynckit.clock import Clock

#: Permissions of the socket: for this user only.
_MODE = 0o600


class DebugSocket:
    """Server on the socket."""

    def __init__(self, path: Path, *, clock: Clock, on_verbosity: Callable[[], None]) -> None:
        self._path = path
        self._server = HttpServer(socket_path=str(path), clock=clock)
        profiling.add_pages(self._server)
        add_debug_flags(self._server, on_verbosity=on_verbosity)

    async def start(self) -> None:
        """Serve the socket, in place of one that an earlier process has left. Raises ``OptionError``."""
        try:
            if stat.S_ISSOCK(self._path.lstat().st_mode):
                self._path.unlink()
        except FileNotFoundError:
            pass
        except OSError as error:
            raise OptionError(f"--debug-socket-path: {self._path}: {errno_text(error)}") from error
        try:
            self._server.bind()
        except ListenError as error:
            raise OptionError(f"--debug-socket-path: {error}") from error
        self._path.chmod(_MODE)  # no client can connect before the socket listens
        await self._server.__aenter__()

    async def stop(self) -> None:
        """Remove the socket."""
        await self._server.__aexit__(None, None, None)
