"""Delay between the answer to a write and its watch events, in turns of the event loop instead of seconds.

A client that writes and watches reads stale state while the event of its own write is behind the answer. The server runs in
memory, without sockets, so that the result depends on the order of its work only: ``python -m benchmarks.event_delay``.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.controlplane.core import ServerCore
from steersman.controlplane.options import APIServerOptions
from steersman.storage.memory import MemoryStore

if TYPE_CHECKING:
    from steersman.apiserver.server.loopback import Message
    from steersman.asynckit.clock import Clock

PATH: Final = "/api/v1/namespaces/default/configmaps"


class TurnCounter:
    """Count of the turns of the running loop."""

    def __init__(self) -> None:
        self.turns = 0
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self.turns += 1
        self._handle = self._loop.call_soon(self._turn)

    def stop(self) -> None:
        """End the count."""
        self._handle.cancel()


class Measure:
    """Turns at which the server sends answers and events, by the name of the object."""

    def __init__(self, core: ServerCore, turns: TurnCounter) -> None:
        self._app = core.app
        self._client = core.client.through(self._record)
        self._turns = turns
        self.answered: dict[str, int] = {}
        self.delivered: dict[str, list[int]] = {}
        #: Names in the order of the events, for each watcher.
        self.order: list[list[str]] = []

    async def _record(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on; record the turns of its messages before they are passed back."""
        names: list[str] = []
        is_watch = b"watch=1" in scope["query_string"]
        if is_watch:
            self.order.append(names)

        async def record(message: Message) -> None:
            body = message.get("body", b"")
            if body and is_watch:
                for line in body.splitlines():
                    names.append(json.loads(line)["object"]["metadata"]["name"])
                    self.delivered.setdefault(names[-1], []).append(self._turns.turns)
            elif body:
                self.answered[json.loads(body)["metadata"]["name"]] = self._turns.turns
            await send(message)

        await self._app(scope, receive, record)

    async def watch(self) -> None:
        """Watch until cancelled."""
        async with self._client.open("GET", f"{PATH}?watch=1") as events:
            async for _ in events:
                pass

    async def write(self, name: str) -> None:
        """Create an object."""
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        answer = await self._client.request("POST", PATH, body=json.dumps(body).encode())
        assert answer.code == 201, answer.body

    def delays(self) -> Counter[int]:
        """Return how many events were sent how many turns after the answer; negative: before it."""
        return Counter(turn - self.answered[name] for name, turns in self.delivered.items() for turn in turns)


async def measure(*, watchers: int, writers: int, writes: int, clock: Clock) -> Measure:
    """Run concurrent writers, each one write after the other, beside the watchers.

    With a ``FakeClock`` no wake-up costs time, so that watches are never woken in rounds.
    """
    core = ServerCore(APIServerOptions(ephemeral=True), MemoryStore(clock=clock), clock=clock)
    await core.start()
    turns = TurnCounter()
    measurement = Measure(core, turns)
    try:
        watching = [asyncio.create_task(measurement.watch()) for _ in range(watchers)]
        await measurement.write("first")

        async def write(writer: int) -> None:
            for number in range(writes):
                await measurement.write(f"w{writer}-{number}")

        await asyncio.gather(*(write(writer) for writer in range(writers)))
        expected = writers * writes + 1
        while any(len(names) < expected for names in measurement.order):
            await asyncio.sleep(0)
        for task in watching:
            task.cancel()
        await asyncio.wait(watching)
    finally:
        turns.stop()
        await core.close()
    return measurement


async def main() -> None:
    """Print the distribution for several loads."""
    for name, clock in (("no rounds", FakeClock()), ("rounds", RealClock())):
        for watchers, writers in ((1, 1), (10, 1), (10, 4), (100, 16)):
            measurement = await measure(watchers=watchers, writers=writers, writes=100, clock=clock)
            turns = dict(sorted(measurement.delays().items()))
            print(f"{name}, {watchers} watchers, {writers} writers: turns after the answer {turns}")


if __name__ == "__main__":
    asyncio.run(main())
