"""What the user is told when the first node is Ready: from then on pods run."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from steersman.client.changes import Deleted
from steersman.client.objects import name_of
from steersman.nodes.pods import NODES

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.runtime.context import ControllerContext

#: Where commands are explained; each line is run by the test of the tour.
HINTS: Final = (
    ("kubectl create deployment web --image=nginx --replicas=3", "three pods run a moment later"),
    ("steersman status", "what runs here"),
    ("steersman down", "stops it, as Ctrl-C does"),
)


class Greeting:
    """Run by a manager like a controller; ends when it has been said."""

    name = "greeting"

    def __init__(self, context: ControllerContext, *, begun_seconds: float) -> None:
        """``begun_seconds`` is when the control plane was started, by ``time.perf_counter``."""
        self._begun = begun_seconds
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        self._node = ""
        context.informers.informer(NODES).add_callback(self._changed)

    @property
    def is_ready(self) -> bool:
        return True

    def stop(self) -> None:
        self._stop.set()

    def _changed(self, change: Change[dict[str, Any]]) -> None:
        if not isinstance(change, Deleted) and not self._node and is_ready(change.latest):
            self._node = name_of(change.latest)
            self._ready.set()

    async def run(self) -> None:
        """Until it is said, or ``stop``."""
        waits = [asyncio.create_task(event.wait(), name="greeting") for event in (self._ready, self._stop)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.wait(waits)
        if self._ready.is_set():
            self._say(time.perf_counter() - self._begun)
            await self._stop.wait()

    def _say(self, took_seconds: float) -> None:
        width = max(len(command) for command, _ in HINTS)
        lines = [f"node {self._node} is Ready after {took_seconds:.2f} s: pods run now"]
        lines += [f"  {command:{width}}   {told}" for command, told in HINTS]
        with suppress(OSError):  # nobody reads it
            sys.stdout.write("".join(f"{line}\n" for line in lines))
            sys.stdout.flush()


def is_ready(node: dict[str, Any]) -> bool:
    """Whether the node's condition ``Ready`` holds."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
