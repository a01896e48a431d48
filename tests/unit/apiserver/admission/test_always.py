from __future__ import annotations

from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import Server

from steersman.apiserver.admission.always import AlwaysAdmit, AlwaysDeny


async def test_always_admit_admits_every_write():
    async with Server(AlwaysAdmit()) as server:
        assert (await server.make())["metadata"]["name"] == "a"


async def test_always_deny_rejects_every_write():
    server = Plugged(lambda _: AlwaysDeny())
    answer = await server.call("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})
    assert refusal(answer) == "admission control is denying all modifications"
    await server.__aexit__()
