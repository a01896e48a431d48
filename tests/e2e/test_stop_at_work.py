"""SIGTERM while workers compute: the process ends within its grace period, and what it acknowledged is there."""

from __future__ import annotations

import http.client
import itertools
import json
import signal
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.testing import ControlPlane

if TYPE_CHECKING:
    from pathlib import Path

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RULES = "/apis/example.com/v1/namespaces/default/rules"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JSON, YAML = "application/json", "application/yaml"
#: Clients that send requests: more than the server has workers, so that some requests wait when the signal comes.
REQUESTS = 8


class Client:
    """Sends requests, each on a connection of its own."""

    def __init__(self, server: ControlPlane) -> None:
        self._address = urlsplit(server.url)
        self._tls = ssl.create_default_context(cafile=str(server.ca))
        self._headers = {"authorization": f"Bearer {server.token}"}

    def send(self, method: str, path: str, body: bytes | None = None, kind: str = JSON) -> tuple[int, bytes]:
        """Return code and body of the answer; code 0 if the connection ended without one."""
        connection = http.client.HTTPSConnection(
            self._address.hostname or "", self._address.port, context=self._tls, timeout=HANG_SECONDS
        )
        try:
            connection.request(method, path, body, {**self._headers, "content-type": kind})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def writes_in_flight(self) -> int:
        """Return how many writes the server works on."""
        _, text = self.send("GET", "/metrics")
        for line in text.decode().splitlines():
            if line.startswith("apiserver_current_inflight_requests{") and 'request_kind="mutating"' in line:
                return int(float(line.rpartition(" ")[2]))
        return 0


def definition() -> bytes:
    """Return a definition whose rules cost most of the budget of one object."""
    rules = [{"rule": f"self.all(a, self.all(b, a + b >= 0 || {number} > 0))"} for number in range(12)]
    numbers = {"type": "array", "maxItems": 250, "items": {"type": "integer"}, "x-kubernetes-validations": rules}
    schema = {"type": "object", "properties": {"n": numbers}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": "example.com",
        "names": {"plural": "rules", "singular": "rule", "kind": "Rule", "listKind": "RuleList"},
        "scope": "Namespaced",
        "versions": [version],
    }
    tree = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return json.dumps({**tree, "metadata": {"name": "rules.example.com"}, "spec": spec}).encode()


def expensive_rules(name: str) -> tuple[str, bytes, str]:
    tree: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": "Rule", "metadata": {"name": name}}
    return RULES, json.dumps({**tree, "n": list(range(250))}).encode(), JSON


def large_yaml(name: str) -> tuple[str, bytes, str]:
    data = "".join(f"  k{number}: v{number}\n" for number in range(60_000))
    return CONFIG_MAPS, f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n{data}".encode(), YAML


Expensive = Callable[[str], tuple[str, bytes, str]]


def create_until_rejected(client: Client, expensive: Expensive, prefix: str) -> dict[str, int]:
    """Create one object after the other until one is rejected; return the codes by path."""
    codes: dict[str, int] = {}
    for number in itertools.count():
        name = f"{prefix}-{number}"
        path, body, kind = expensive(name)
        codes[f"{path}/{name}"] = code = client.send("POST", path, body, kind)[0]
        if code != HTTPStatus.CREATED:
            break
    return codes


@pytest.mark.parametrize("expensive", [expensive_rules, large_yaml])
def test_sigterm_ends_a_busy_server_and_keeps_acknowledged_writes(expensive, tmp_path: Path) -> None:
    with ControlPlane(ephemeral=False, data_dir=tmp_path / "data") as server:
        client = Client(server)
        assert client.send("POST", DEFINITIONS, definition())[0] == 201
        while client.send("GET", RULES)[0] != 200:
            pass
        acknowledged = []
        for number in range(20):
            body = json.dumps({"metadata": {"name": f"before{number}"}}).encode()
            assert client.send("POST", CONFIG_MAPS, body)[0] == 201
            acknowledged.append(f"{CONFIG_MAPS}/before{number}")
        process = server._process
        assert process is not None
        with ThreadPoolExecutor(REQUESTS) as pool:
            creating = [pool.submit(create_until_rejected, client, expensive, f"x{n}") for n in range(REQUESTS)]
            try:
                while not client.writes_in_flight():
                    pass
                process.send_signal(signal.SIGTERM)
                assert process.wait(HANG_SECONDS) == 0
            finally:
                process.kill()  # the threads end with the server
            codes = {path: code for created in creating for path, code in created.result().items()}
        assert "Traceback" not in server.log
        server.kill()  # it has ended; gives its pipes back
        assert all(code in (0, 201) or code >= 500 for code in codes.values()), codes
        server.start()
        client = Client(server)
        while client.send("GET", RULES)[0] != 200:
            pass
        acknowledged += [path for path, code in codes.items() if code == 201]
        assert {path: client.send("GET", path)[0] for path in acknowledged} == dict.fromkeys(acknowledged, 200)
        refused = [path for path, code in codes.items() if code >= 400]
        assert {path: client.send("GET", path)[0] for path in refused} == dict.fromkeys(refused, 404)
