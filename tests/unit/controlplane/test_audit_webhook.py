"""Audit events for another server."""

import asyncio
import json
from random import Random

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client.transport import Request, Response, TransportError
from steersman.controlplane import audit_webhook
from steersman.controlplane.audit_webhook import AuditWebhook, open_webhook
from steersman.controlplane.options import OptionError

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://audit.test:8443/events?tenant=a"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


class Server:
    """Transport with scripted responses; a text is a connection failure."""

    def __init__(self, *answers: int | str) -> None:
        self.answers = list(answers)
        self.bodies: list[dict] = []
        self.times: list[float] = []
        self.clock = FakeClock()
        self.closed = False
        self.webhook = AuditWebhook(
            self, Request("POST", "/"), initial_backoff_seconds=10.0, clock=self.clock, dice=Random(1)
        )

    async def request(self, request: Request) -> Response:
        self.bodies.append(json.loads(request.body))
        self.times.append(self.clock.monotonic())
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            raise TransportError(answer)
        return Response(answer, {}, b"")

    async def close(self) -> None:
        self.closed = True


async def test_events_are_sent_as_a_list():
    server = Server(200)
    await server.webhook.write([b'{"a":1}\n', b'{"a":2}\n'])
    assert server.bodies == [
        {"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}, "items": [{"a": 1}, {"a": 2}]}
    ]
    await server.webhook.close()
    assert server.closed


async def send(server: Server) -> None:
    await server.webhook.write([b"{}\n"])


async def advance(server: Server, work, seconds: float) -> None:
    """Let time pass while ``work`` is under way, and see how it ended."""
    task = asyncio.create_task(work)
    await server.clock.advance(seconds)
    await task


async def test_temporary_failures_are_retried_with_backoff():
    server = Server("connection refused", 503, 429, 200)
    await advance(server, send(server), 100)
    pauses = [after - before for before, after in zip(server.times, server.times[1:], strict=False)]
    assert all(base <= pause <= base * 1.2 for base, pause in zip((10.0, 15.0, 22.5), pauses, strict=True))


@pytest.mark.parametrize(
    ("answers", "message"), [((400,), "status 400"), ((500,) * 5, "status 500"), (("down",) * 5, "down")]
)
async def test_rejected_batch_is_dropped_and_reported(answers, message):
    server = Server(*answers)
    with pytest.raises(OSError, match=f"audit webhook: {message}"):
        await advance(server, send(server), 200)
    assert server.answers == []


async def test_stop_ends_the_backoff_with_a_last_attempt():
    server = Server(500, 500)
    task = asyncio.create_task(send(server))
    await server.clock.advance(1)
    server.webhook.expedite()
    with pytest.raises(OSError, match="status 500"):
        await task
    assert server.clock.monotonic() == 1.0


async def test_webhook_url_is_the_kubeconfigs_server(tmp_path):
    file = tmp_path / "config"
    file.write_text(KUBECONFIG)
    webhook = open_webhook(file, initial_backoff_seconds=1.0, clock=FakeClock(), dice=Random(1))
    assert (webhook._transport.host, webhook._target.target) == ("audit.test:8443", "/events?tenant=a")
    await webhook.close()


def test_kubeconfig_without_server_is_rejected(tmp_path):
    with pytest.raises(OptionError, match="--audit-webhook-config-file"):
        open_webhook(tmp_path / "none", initial_backoff_seconds=1.0, clock=FakeClock(), dice=Random(1))


async def test_stop_bounds_the_wait_for_a_response(monkeypatch):
    monkeypatch.setattr(audit_webhook, "_EXPEDITED_SECONDS", 0.0)
    server = Server()

    async def never(request: Request) -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    server.request = never
    task = asyncio.create_task(send(server))
    await server.clock.advance(0)
    server.webhook.expedite()
    with pytest.raises(OSError, match="no answer in time"):
        await task
    with pytest.raises(OSError, match="no answer in time"):
        await send(server)
