"""Other commands of ours in processes of their own: started again when they fail, ended before their parent ends."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING, Final

from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import wait_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.asynckit.clock import Clock

_log = logging.getLogger(__name__)

#: A child that ends by itself is started again after this, longer each time.
_RESTART: Final = BackoffPolicy(0.5, 30.0)
#: One that ran so long has recovered: its next failure is its first.
_STEADY_SECONDS: Final = 60.0
#: An orderly end may take so long.
STOP_SECONDS: Final = 15.0


class Child:
    """``steersman ARGUMENTS`` as long as this object is started.

    It holds the reading end of a pipe whose other end is ours, so it ends however this process ends. It has a session of
    its own: Ctrl-C reaches this process alone, which then ends its children in order.
    """

    def __init__(self, arguments: Sequence[str], *, clock: Clock) -> None:
        self._arguments = list(arguments)
        self._clock = clock
        self._supervisor = Supervisor(f"child {arguments[0]}")
        self._process: asyncio.subprocess.Process | None = None
        #: Reading and writing end; open from ``start`` to the end of ``stop``.
        self._pipe: tuple[int, int] | None = None

    def start(self) -> None:
        """Returns at once."""
        self._pipe = os.pipe()
        self._supervisor.start("keeper", self._keep())

    async def stop(self, *, grace_seconds: float = STOP_SECONDS) -> None:
        """Ask it to end, wait for that, and kill it when it takes too long. Idempotent."""
        await self._supervisor.close()
        process, self._process = self._process, None
        try:
            if process is not None and process.returncode is None:
                await self._end(process, grace_seconds)
        finally:
            pipe, self._pipe = self._pipe, None
            for end in pipe or ():
                os.close(end)

    async def _end(self, process: asyncio.subprocess.Process, grace_seconds: float) -> None:
        process.terminate()
        try:
            await wait_for(process.wait(), grace_seconds, clock=self._clock)
        except TimeoutError:
            _log.warning("%s did not end within %s seconds, killing it", self._arguments[0], grace_seconds)
            process.kill()
            await process.wait()

    @property
    def pid(self) -> int | None:
        """Of the process that runs now."""
        return self._process.pid if self._process is not None else None

    async def _keep(self) -> None:
        backoff = Backoff(_RESTART)
        while True:
            started = self._clock.monotonic()
            code = await self._run()
            if self._clock.monotonic() - started >= _STEADY_SECONDS:
                backoff.reset()
            _log.warning("%s ended with code %s, starting it again", self._arguments[0], code)
            await self._clock.sleep(backoff.next_seconds())

    async def _run(self) -> int:
        assert self._pipe is not None
        reader = self._pipe[0]
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "steersman", *self._arguments, f"--parent-pipe={reader}"),
            stdin=asyncio.subprocess.DEVNULL,
            pass_fds=[reader],
            start_new_session=True,
        )
        return await self._process.wait()
