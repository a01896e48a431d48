"""Hooks and their checks."""

import pytest

from steersman.apiserver.endpoints.health import Unhealthy
from steersman.apiserver.server.loopback import Answer
from steersman.controlplane.post_start import SYSTEM_NAMESPACES, PostStartHooks, make_system_namespaces


async def test_a_check_passes_once_its_hook_is_done():
    hooks, ran = PostStartHooks(), []

    async def hook() -> None:
        ran.append(1)

    check = hooks.add("mine", hook)
    assert check.name == "poststarthook/mine"
    with pytest.raises(Unhealthy):
        await check.probe()
    await hooks.run()
    await check.probe()
    assert ran == [1]


class Client:
    def __init__(self, codes: dict[str, int]) -> None:
        self.codes, self.calls = codes, []

    async def request(self, method: str, target: str, *, body: bytes | None = None) -> Answer:
        self.calls.append(f"{method} {target}")
        return Answer(self.codes[method], [], body or b"")


async def test_missing_namespaces_are_made():
    client = Client({"GET": 404, "POST": 201})
    await make_system_namespaces(client)
    assert client.calls.count("POST /api/v1/namespaces") == len(SYSTEM_NAMESPACES) == 4


async def test_existing_namespaces_stay():
    client = Client({"GET": 200})
    await make_system_namespaces(client)
    assert len(client.calls) == 4


async def test_a_namespace_that_cannot_be_made_stops_the_start():
    with pytest.raises(RuntimeError, match="cannot make"):
        await make_system_namespaces(Client({"GET": 404, "POST": 500}))
