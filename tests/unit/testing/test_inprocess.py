"""The server on the test's own loop."""

import asyncio
import json

from steersman.testing import InProcessAPIServer


async def test_in_process_server_serves_writes_and_watches():
    async with InProcessAPIServer() as server:
        async with server.open("GET", "/api/v1/namespaces/default/configmaps?watch=1") as watch:
            body = json.dumps({"metadata": {"name": "a"}}).encode()
            response = await server.request("POST", "/api/v1/namespaces/default/configmaps", body=body)
            event = json.loads(await anext(aiter(watch)))
        assert (event["type"], event["object"]) == ("ADDED", response.json())


async def test_in_process_server_ends_all_tasks():
    before = asyncio.all_tasks()
    async with InProcessAPIServer() as server:
        await server.request("GET", "/api/v1/pods")
    assert asyncio.all_tasks() == before
