"""When tokens in Secrets were last used."""

import asyncio

import pytest

from steersman.apiserver.server.loopback import Answer
from steersman.asynckit.clock import FakeClock
from steersman.controlplane.token_uses import TokenUses


class Client:
    """Stands for the loopback: remembers, and answers with a code."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, bytes]] = []
        self.code = 200

    async def request(self, method, path, *, body, headers):
        self.calls.append((method, path, body))
        return Answer(self.code, [], b"")


@pytest.fixture
async def running():
    uses, client = TokenUses(clock=FakeClock()), Client()
    task = asyncio.create_task(uses.run(client))
    yield uses, client
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def secret(name: str, **labels) -> dict:
    return {"metadata": {"namespace": "ns", "name": name, "uid": "u", "labels": labels}}


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)  # noqa: TID251


async def test_a_use_is_written_once_however_often_it_is_told(running):
    uses, client = running
    for _ in range(3):
        uses.note(secret("s"))
    uses.note(secret("t", **{"kubernetes.io/legacy-token-last-used": "2026-01-01"}))
    await settle()
    body = b'{"metadata":{"uid":"u","labels":{"kubernetes.io/legacy-token-last-used":"2026-01-01"}}}'
    assert client.calls == [("PATCH", "/api/v1/namespaces/ns/secrets/s", body)]


async def test_what_cannot_be_written_is_told_and_does_not_stop_the_rest(running, caplog):
    uses, client = running
    client.code = 404
    uses.note(secret("s"))
    await settle()
    client.code = 200
    uses.note(secret("t"))
    await settle()
    assert len(client.calls) == 2
    assert "cannot be noted: 404" in caplog.text


async def test_only_so_many_wait():
    uses = TokenUses(clock=FakeClock())
    for number in range(2000):
        uses.note(secret(f"s{number}"))
    assert len(uses._pending) == 1000
