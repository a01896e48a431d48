"""A controller of Steersman's toolkit on the event loop of the test."""

import asyncio
import sys
from pathlib import Path

from steersman.runtime import Manager

sys.path.insert(0, str(Path(__file__).parents[1]))
from greeter import Greeter

MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "hello", "namespace": "default"},
    "data": {"name": "you"},
}


async def test_greeter_greets(cluster):
    async with cluster.client() as client:
        manager = Manager(client)
        manager.add(Greeter(manager.context))
        running = asyncio.create_task(manager.run())
        await cluster.aio.apply(MAP)
        greeted = await cluster.aio.wait_for("configmap/hello", "jsonpath={.data.greeting}")
        assert greeted["data"]["greeting"] == "Hello, you!"
        manager.stop()
        await running
