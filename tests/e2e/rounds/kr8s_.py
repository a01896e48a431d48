"""kr8s. Its watch begins with what is there."""

import asyncio
import json
import sys

import kr8s
from kr8s.asyncio.objects import ConfigMap


async def main(kubeconfig: str, namespace: str) -> None:
    api = await kr8s.asyncio.api(kubeconfig=kubeconfig, namespace=namespace)
    config_map = await ConfigMap({"metadata": {"name": "a", "namespace": namespace}, "data": {"k": "1"}}, api=api)
    await config_map.create()
    listed = [item.name async for item in api.get("configmaps", namespace=namespace)]
    events = []
    seen = asyncio.Event()

    async def follow() -> None:
        async for kind, item in api.watch("configmaps", namespace=namespace):
            events.append((kind, item.raw["data"]["k"]))
            seen.set()
            if kind == "DELETED":
                return

    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        tasks.create_task(follow())
        await seen.wait()
        await config_map.patch({"data": {"k": "2"}})
        await config_map.delete()
    print(json.dumps({"listed": listed, "events": [e for e in events if e[0] != "ADDED"]}))


asyncio.run(main(*sys.argv[1:]))
