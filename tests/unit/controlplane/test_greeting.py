"""When pods can run is told once, and not before."""

from __future__ import annotations

import time
from typing import Any

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.tasks import Supervisor
from steersman.client import Client
from steersman.controlplane.greeting import Greeting, is_ready
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.runtime.context import ControllerContext
from steersman.testing import InProcessAPIServer


def node(name: str, ready: str) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": ready}]
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"conditions": conditions}}


def test_a_node_is_ready_when_its_condition_holds() -> None:
    assert [is_ready(node("a", "True")), is_ready(node("a", "Unknown")), is_ready({})] == [True, False, False]


async def test_the_first_ready_node_is_told(capsys) -> None:
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock) as server:
        client = Client(LoopbackTransport(server.core.client), clock=clock)
        context = ControllerContext(client)
        greeting = Greeting(context, begun_seconds=time.perf_counter())
        tasks = Supervisor("greeting")
        context.informers.start()
        tasks.start("greeting", greeting.run())
        for name, ready in (("slow", "False"), ("quick", "True"), ("quick-too", "True")):
            await client.create(node(name, ready))
            await clock.advance(1)
        told = capsys.readouterr().out
        assert told.startswith("node quick is Ready after ")
        assert told.count(" is Ready ") == 1
        greeting.stop()
        await clock.advance(1)
        await tasks.close()
        await context.informers.close()
