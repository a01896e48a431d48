"""Audit backend that posts events to a server named by a kubeconfig (``--audit-webhook-config-file``)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from steersman.apiserver.audit.policy import API_VERSION
from steersman.client.aiohttp_transport import AiohttpTransport
from steersman.client.credentials import ConfigError
from steersman.client.kubeconfig import load_kubeconfig
from steersman.client.transport import Request, TransportError
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from steersman.asynckit.clock import Clock
    from steersman.client.kubeconfig import ClusterAccess
    from steersman.client.transport import Transport

#: Upstream's backoff of webhooks: attempts, factor of the delay, and maximum jitter as a fraction.
_TRIES: Final = 5
_FACTOR: Final = 1.5
_JITTER: Final = 0.2
_TIMEOUT_SECONDS: Final = 30.0
#: Timeout of a request while the server stops.
_EXPEDITED_SECONDS: Final = 2.0

_HEAD: Final = (
    msgspec.json.encode({"kind": "EventList", "apiVersion": API_VERSION, "metadata": {}})[:-1] + b',"items":['
)
_HEADERS: Final = {"content-type": "application/json", "accept": "application/json"}


class AuditWebhook:
    """Audit ``Destination`` that posts batches sequentially, so that the order of events is kept."""

    def __init__(
        self, transport: Transport, target: Request, *, initial_backoff_seconds: float, clock: Clock, dice: Random
    ) -> None:
        """``target`` is the request that posts, without its body."""
        self._transport: Final = transport
        self._target: Final = target
        self._backoff_seconds: Final = initial_backoff_seconds
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
        pause = self._backoff_seconds
        for left in reversed(range(_TRIES)):
            failure, passes = await self._post(body)
            if not failure:
                return
            if not passes or not left or self._is_expedited:
                raise OSError(f"audit webhook: {failure}")
            await self._pause(pause * (1 + _JITTER * self._dice.random()))
            pause *= _FACTOR

    async def _post(self, body: bytes) -> tuple[str, bool]:
        """Return the error of the request (empty on success), and True if a retry may succeed."""
        request = msgspec.structs.replace(self._target, body=body)
        try:
            async with asyncio.timeout(_EXPEDITED_SECONDS if self._is_expedited else _TIMEOUT_SECONDS) as self._bound:
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


def read_webhook_config(file: Path, *, clock: Clock) -> ClusterAccess:
    """Read ``--audit-webhook-config-file``. Raise ``OptionError``."""
    try:
        return load_kubeconfig(file, clock=clock)
    except ConfigError as error:
        raise OptionError(f"--audit-webhook-config-file: {error}") from error


def open_webhook(file: Path, *, initial_backoff_seconds: float, clock: Clock, dice: Random) -> AuditWebhook:
    """Return the webhook of a kubeconfig's current context, which posts to the exact URL of its server.

    Raises ``OptionError``.
    """
    access = read_webhook_config(file, clock=clock)
    parts = urlsplit(access.server)
    transport = AiohttpTransport(msgspec.structs.replace(access, server=f"{parts.scheme}://{parts.netloc}"))
    target = Request("POST", parts.path or "/", query=tuple(parse_qsl(parts.query)), headers=_HEADERS)
    return AuditWebhook(transport, target, initial_backoff_seconds=initial_backoff_seconds, clock=clock, dice=dice)
