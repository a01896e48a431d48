from __future__ import annotations

import asyncio

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apiserver.endpoints import component_statuses
from steersman.apiserver.endpoints.component_statuses import probe_loopback

COMPONENTS = "/api/v1/componentstatuses"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    """The scheduler answers, the controller manager does not."""

    async def probe(port):
        return (True, "ok") if port == 10259 else (False, "refused")

    monkeypatch.setattr(component_statuses, "probe_loopback", probe)


async def test_the_parts_of_a_control_plane_are_listed():
    async with Server() as server:
        answer = await server.call("GET", COMPONENTS)
        assert answer.body == {
            "kind": "ComponentStatusList",
            "apiVersion": "v1",
            "metadata": {},
            "items": [
                {
                    "metadata": {"name": "controller-manager"},
                    "conditions": [{"type": "Healthy", "status": "False", "message": "refused"}],
                },
                {
                    "metadata": {"name": "scheduler"},
                    "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
                },
            ],
        }
        assert answer.warnings == ["v1 ComponentStatus is deprecated in v1.19+"]


async def test_one_part_is_read():
    async with Server() as server:
        answer = await server.call("GET", f"{COMPONENTS}/scheduler")
        assert (answer.body["kind"], answer.body["metadata"]) == ("ComponentStatus", {"name": "scheduler"})


async def test_an_unknown_part_is_404():
    async with Server() as server:
        answer = await server.call("GET", f"{COMPONENTS}/none")
        assert (answer.code, answer.body["details"]) == (404, {"name": "none", "kind": "componentstatus"})


async def test_parts_show_as_a_table_and_can_be_selected():
    async with Server() as server:
        table = (await server.call("GET", COMPONENTS, headers=TABLE)).body
        assert [row["cells"] for row in table["rows"]] == [
            ["controller-manager", "Unhealthy", "refused", ""],
            ["scheduler", "Healthy", "ok", ""],
        ]
        found = await server.call("GET", COMPONENTS, query="fieldSelector=metadata.name%3Dscheduler")
        assert [item["metadata"]["name"] for item in found.body["items"]] == ["scheduler"]


async def test_nothing_can_be_written():
    async with Server() as server:
        assert (await server.call("POST", COMPONENTS, {"metadata": {"name": "a"}})).code == 405
        assert (await server.call("DELETE", f"{COMPONENTS}/scheduler")).code == 405


async def test_nothing_can_be_watched():
    async with Server() as server:
        answer = await server.call("GET", COMPONENTS, query="watch=true")
        assert (answer.code, answer.body["details"]) == (405, {"kind": "componentstatuses"})
        assert answer.body["message"] == 'watch is not supported on resources of kind "componentstatuses"'


class Peer:
    """What is at a port, in place of a connection."""

    def __init__(self, answer: bytes | Exception) -> None:
        self.answer = answer
        self.asked = b""
        self.is_over = isinstance(answer, Exception)

    async def open(self, host, port, *, ssl):
        assert (host, port, ssl.check_hostname) == ("127.0.0.1", 10259, False)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self, self

    def write(self, data):
        self.asked += data

    async def drain(self):
        pass

    async def read(self, limit):
        return self.answer[:limit]

    @property
    def transport(self):
        return self

    def abort(self):
        self.is_over = True


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nok", (True, "ok")),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n{}", (False, "HTTP probe failed with statuscode: 403")),
        (b"", (False, "HTTP probe failed with statuscode: 0")),
        (
            b"not http",
            (False, "Get \"https://127.0.0.1:10259/healthz\": invalid literal for int() with base 10: b'http'"),
        ),
        (
            ConnectionRefusedError(),
            (False, 'Get "https://127.0.0.1:10259/healthz": dial tcp 127.0.0.1:10259: connect: connection refused'),
        ),
        (TimeoutError(), (False, 'Get "https://127.0.0.1:10259/healthz": context deadline exceeded')),
        (OSError("gone"), (False, 'Get "https://127.0.0.1:10259/healthz": gone')),
    ],
)
async def test_what_a_part_answers_is_its_health(monkeypatch, answer, verdict):
    peer = Peer(answer)
    monkeypatch.setattr(asyncio, "open_connection", peer.open)
    assert await probe_loopback(10259) == verdict
    assert peer.is_over
