"""Audit backend that posts events to a server named by a kubeconfig (``--audit-webhook-config-file``)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.audit.policy import API_VERSION
from steersman.asynckit.backoff import Backoff
from steersman.client.transport import TransportError
from steersman.controlplane.kubeconfig_webhook import (
    TIMEOUT_SECONDS,
    TRIES,
    open_target,
    read_webhook_kubeconfig,
    retry_backoff,
)

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from steersman.asynckit.clock import Clock
    from steersman.client.transport import Request, Transport

_FLAG: Final = "--audit-webhook-config-file"
#: Timeout of a request while the server stops.
_EXPEDITED_SECONDS: Final = 2.0

_HEAD: Final = (
    msgspec.json.encode({"kind": "EventList", "apiVersion": API_VERSION, "metadata": {}})[:-1] + b',"items":['
)


class AuditWebhook:
    """Audit ``Destination`` that posts batches sequentially, so that the order of events is kept."""

    def __init__(
        self, transport: Transport, target: Request, *, initial_backoff_seconds: float, clock: Clock, dice: Random
    ) -> None:
        """``target`` is the request that posts, without its body."""
        self._transport: Final = transport
        self._target: Final = target
        self._backoff: Final = retry_backoff(initial_backoff_seconds)
        self._clock: Final = clock
        self._dice: Final = dice
        #: Event that ends a pause.
        self._wake: Final = asyncio.Event()
        self._is_expedited = False
        #: Timeout of the current request.
        self._bound: asyncio.Timeout | None = None

    async def write(self, lines: list[bytes]) -> None:
        """Post a batch; retry temporary failures. Raises ``OSError`` if the server does not accept it."""
        body = b"%b%b]}" % (_HEAD, b",".join([line.rstrip(b"\n") for line in lines]))
        backoff = Backoff(self._backoff, dice=self._dice)
        for left in reversed(range(TRIES)):
            failure, passes = await self._post(body)
            if not failure:
                return
            if not passes or not left or self._is_expedited:
                raise OSError(f"audit webhook: {failure}")
            await self._pause(backoff.next_seconds())

    async def _post(self, body: bytes) -> tuple[str, bool]:
        """Return the error of the request (empty on success), and True if a retry may succeed."""
        request = msgspec.structs.replace(self._target, body=body)
        try:
            async with asyncio.timeout(_EXPEDITED_SECONDS if self._is_expedited else TIMEOUT_SECONDS) as self._bound:
                answer = await self._transport.request(request)
        except TimeoutError:
            return "no answer in time", True
        except TransportError as error:
            return str(error), True
        finally:
            self._bound = None
        if 200 <= answer.status < 300:
            return "", False
        return f"status {answer.status}", answer.status == 429 or answer.status >= 500

    async def _pause(self, seconds: float) -> None:
        """Wait for a delay; ``expedite`` ends it."""
        self._wake.clear()
        timer = self._clock.timer(seconds, self._wake.set)
        await self._wake.wait()
        timer.cancel()

    def expedite(self) -> None:
        """End pauses; make only one attempt with a short deadline afterwards."""
        self._is_expedited = True
        self._wake.set()
        if self._bound is not None:
            self._bound.reschedule(asyncio.get_running_loop().time() + _EXPEDITED_SECONDS)

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()


def open_webhook(file: Path, *, initial_backoff_seconds: float, clock: Clock, dice: Random) -> AuditWebhook:
    """Return the webhook of a kubeconfig's current context, which posts to the exact URL of its server.

    Raises ``OptionError``.
    """
    transport, target = open_target(read_webhook_kubeconfig(_FLAG, file, clock=clock))
    return AuditWebhook(transport, target, initial_backoff_seconds=initial_backoff_seconds, clock=clock, dice=dice)
