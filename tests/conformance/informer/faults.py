"""Transport that injects random network and server faults."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steersman.client.transport import Response, TransportError

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator

    from steersman.asynckit.clock import Clock
    from steersman.client.transport import Request, Stream, Transport


@dataclass
class Faults:
    """Kinds of faults and their probability, per request or per chunk of a stream."""

    dice: random.Random
    request_rate: float = 0.4
    piece_rate: float = 0.4
    request_kinds: tuple[str, ...] = ("lost", "500", "503", "429", "409", "410", "slow")
    piece_kinds: tuple[str, ...] = (
        "cut", "cut inside", "end", "stall", "slow", "replay", "error 410", "error 500", "torn",
    )  # fmt: skip
    #: Number of occurrences of each fault.
    seen: Counter[str] = field(default_factory=Counter)

    def for_request(self, request: object = None) -> str:
        return self._draw(self.request_rate, self.request_kinds)

    def for_piece(self) -> str:
        return self._draw(self.piece_rate, self.piece_kinds)

    def cut_off(self) -> None:
        """Fail all requests."""
        self.request_rate = self.piece_rate = 1.0
        self.request_kinds, self.piece_kinds = ("lost",), ("cut",)

    def stop(self) -> None:
        self.request_rate = self.piece_rate = 0.0

    def _draw(self, rate: float, kinds: tuple[str, ...]) -> str:
        if not kinds or self.dice.random() >= rate:
            return ""
        kind = self.dice.choice(kinds)
        self.seen[kind] += 1
        return kind


_REASONS = {500: "InternalError", 503: "ServiceUnavailable", 429: "TooManyRequests", 409: "Conflict", 410: "Expired"}


def status(code: int) -> bytes:
    tree = {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": _REASONS[code], "message": f"a fault of {code}",
    }  # fmt: skip
    return json.dumps(tree).encode()


class FaultyTransport:
    """Transport between a client and another transport."""

    host = "faulty"

    def __init__(self, inner: Transport, faults: Faults, *, clock: Clock) -> None:
        self._inner = inner
        self._faults = faults
        self._clock = clock
        #: Lines of earlier watches, for replays.
        self._history: list[bytes] = []

    async def request(self, request: Request) -> Response:
        fault = self._faults.for_request()
        refused = await self._refuse(fault)
        if refused is not None:
            return refused
        answer = await self._inner.request(request)
        if fault == "answer lost":
            raise TransportError("connection reset by peer")
        if fault == "duplicate":
            second = await self._inner.request(request)
            return self._faults.dice.choice((answer, second))
        return answer

    async def _refuse(self, fault: str) -> Response | None:
        if fault == "lost":
            raise TransportError("connection reset by peer")
        if fault == "slow":
            await self._clock.sleep(self._faults.dice.uniform(0.1, 10))
        if not fault.isdigit():
            return None
        headers = {"retry-after": "1"} if fault in ("429", "503") else {}
        return Response(int(fault), headers, status(int(fault)))

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[Stream]:
        refused = await self._refuse(self._faults.for_request())
        if refused is not None:
            yield _Whole(refused)
            return
        async with self._inner.open(request) as stream:
            has_list = ("sendInitialEvents", "true") in request.query
            yield _FaultyStream(stream, self._faults, self._clock, None if has_list else self._history)

    async def close(self) -> None:
        await self._inner.close()


class _Whole:
    def __init__(self, answer: Response) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self._body = answer.body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


class _FaultyStream:
    """Stream with faults; ``history`` None: only its own lines are replayed."""

    def __init__(self, inner: Stream, faults: Faults, clock: Clock, history: list[bytes] | None) -> None:
        self.status = inner.status
        self.headers = inner.headers
        self._inner = inner
        self._faults = faults
        self._clock = clock
        self._history = history

    async def __aiter__(self) -> AsyncIterator[bytes]:
        dice = self._faults.dice
        async for piece in self._inner:
            fault = self._faults.for_piece()
            match fault:
                case "cut" | "cut inside":
                    yield piece[: dice.randrange(len(piece)) if fault == "cut inside" else 0]
                    raise TransportError("connection reset by peer")
                case "end":
                    return
                case "stall":
                    await self._clock.sleep(1e9)
                case "slow":
                    await self._clock.sleep(dice.uniform(0.1, 30))
                case "error 410" | "error 500":
                    yield b'{"type":"ERROR","object":' + status(int(fault[-3:])) + b"}\n"
                case "replay" if self._history:
                    start = dice.randrange(len(self._history))
                    yield b"".join(self._history[start : start + 5])
            if self._history is not None:
                self._history += piece.splitlines(keepends=True)
                del self._history[:-50]
            if fault == "torn":
                at = dice.randrange(len(piece))
                yield piece[:at]
                piece = piece[at:]
            yield piece
