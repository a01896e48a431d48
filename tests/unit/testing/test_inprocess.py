"""The server on the test's own loop."""

import asyncio
import json

from steersman.testing import InProcessAPIServer


async def test_objects_are_made_and_watched_without_a_socket():
    async with InProcessAPIServer() as server:
        async with server.open("GET", "/api/v1/namespaces/default/configmaps?watch=1") as watch:
            body = json.dumps({"metadata": {"name": "a"}}).encode()
            made = await server.request("POST", "/api/v1/namespaces/default/configmaps", body=body)
            event = json.loads(await anext(aiter(watch)))
        assert (event["type"], event["object"]) == ("ADDED", made.json())


async def test_nothing_runs_on_when_it_is_left():
    before = asyncio.all_tasks()
    async with InProcessAPIServer() as server:
        await server.request("GET", "/api/v1/pods")
    assert asyncio.all_tasks() == before
