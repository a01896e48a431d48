"""Notices changes of files, by their contents: a Secret volume replaces its files by a symbolic link."""

from __future__ import annotations

import hashlib
import logging
from asyncio import to_thread
from typing import TYPE_CHECKING, Final

from steersman.client.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from steersman.asynckit.clock import Clock

_log = logging.getLogger(__name__)

#: Upstream is notified of changes, and compares the files once a minute.
RELOAD_SECONDS: Final = 10.0


class FileFollower:
    """Calls ``apply`` when one of the files has changed. An error is logged, and not repeated until the next change."""

    def __init__(self, paths: Sequence[Path], apply: Callable[[], Awaitable[None]], *, clock: Clock) -> None:
        """``apply`` loads the files; it raises ``ClientError``, ``OSError`` or ``ValueError`` and leaves the former state."""
        self._paths = paths
        self._apply = apply
        self._clock = clock
        self._digests = self._read()

    async def run(self) -> None:
        """Check the files every ``RELOAD_SECONDS``, until cancelled."""
        while True:
            await self._clock.sleep(RELOAD_SECONDS)
            try:
                await self.check()
            except (ClientError, OSError, ValueError) as error:
                _log.warning("changed TLS files are not in use: %s", error)

    async def check(self) -> None:
        """Apply the files if one has changed since the last call. Raises the errors of ``apply``."""
        digests = await to_thread(self._read)
        if digests == self._digests:
            return
        self._digests = digests
        await self._apply()
        _log.info("changed TLS files are in use: %s", ", ".join(map(str, self._paths)))

    def _read(self) -> list[bytes]:
        """Return the digests of all files; empty for files that cannot be read."""
        return [_digest(path) for path in self._paths]


def _digest(path: Path) -> bytes:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return b""
