"""When tokens in Secrets were last used."""

import asyncio

import pytest

from steersman.apiserver.server.loopback import Answer
from steersman.asynckit.clock import FakeClock
from steersman.controlplane.authentication.token_uses import TokenUses


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


async def test_repeated_token_use_is_written_once(running):
    uses, client = running
    for _ in range(3):
        uses.note(secret("s"))
    uses.note(secret("t", **{"kubernetes.io/legacy-token-last-used": "2026-01-01"}))
    await settle()
    body = b'{"metadata":{"uid":"u","labels":{"kubernetes.io/legacy-token-last-used":"2026-01-01"}}}'
    assert client.calls == [("PATCH", "/api/v1/namespaces/ns/secrets/s", body)]


async def test_failed_token_use_write_is_logged_and_others_continue(running, caplog):
    uses, client = running
    client.code = 404
    uses.note(secret("s"))
    await settle()
    client.code = 200
    uses.note(secret("t"))
    await settle()
    assert len(client.calls) == 2
    assert "cannot be noted: 404" in caplog.text


async def test_pending_token_uses_are_bounded():
    uses = TokenUses(clock=FakeClock())
    for number in range(2000):
        uses.note(secret(f"s{number}"))
    assert len(uses._pending) == 1000
