"""OpenAPI documents: latency of their clients, and of other clients while documents are built.

``python -m benchmarks.openapi``: an API server with no custom resource definitions, with 20 of 30 kB and with 40 of 500
kB. A second connection requests ``/version`` all the time; its slowest response bounds the time that the event loop was
blocked. With ``--kubectl`` each size also runs ``kubectl create`` twice, with an empty discovery cache.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import urlsplit

from benchmarks.whole import cpu_seconds
from steersman.testing import ControlPlane

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PROTOBUF_V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_PROTOBUF_V3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
#: Property with its text, about 250 bytes of JSON.
_TEXT = "Describes one aspect of the desired state in a sentence as long as those of real definitions. " * 2
_SIZES = ((0, 0), (20, 30), (40, 500))


class Connection:
    """Keep-alive connection of an administrator."""

    def __init__(self, server: ControlPlane) -> None:
        address = urlsplit(server.url)
        context = ssl.create_default_context(cafile=server.ca)
        self._http = http.client.HTTPSConnection(str(address.hostname), address.port, context=context, timeout=120)
        self._headers = {"Authorization": f"Bearer {server.token}"}

    def request(self, method: str, path: str, body: Any = None, accept: str = "*/*") -> tuple[int, bytes]:
        """Return status and body of a response."""
        headers = self._headers | {"Accept": accept, "Content-Type": "application/json"}
        self._http.request(method, path, body=None if body is None else json.dumps(body), headers=headers)
        answer = self._http.getresponse()
        return answer.status, answer.read()


class Probe:
    """Probe of the slowest response to a small request while other work runs."""

    def __init__(self, server: ControlPlane) -> None:
        self._connection = Connection(server)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="probe")
        self.slowest_seconds = 0.0

    def __enter__(self) -> Self:
        self._connection.request("GET", "/version")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(0.001):
            started_at = time.perf_counter()
            self._connection.request("GET", "/version")
            self.slowest_seconds = max(self.slowest_seconds, time.perf_counter() - started_at)


def definition(number: int, kilobytes: int) -> dict[str, Any]:
    """Return a CustomResourceDefinition with a schema of about that size."""
    properties = {f"field{i}": {"type": "string", "description": _TEXT} for i in range(20)}
    groups = {f"group{i}": {"type": "object", "properties": properties} for i in range(max(1, kilobytes // 5))}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": groups}}}
    names = {"plural": f"things{number}", "singular": f"thing{number}", "kind": f"Thing{number}"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things{number}.g{number}.example.com"},
        "spec": {
            "group": f"g{number}.example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@contextmanager
def measured(server: ControlPlane, label: str) -> Iterator[None]:
    """Print wall time, the server's processor time and the slowest answer of the probe."""
    with Probe(server) as probe:
        used, started_at = cpu_seconds(server.pid), time.perf_counter()
        yield
        seconds, used = time.perf_counter() - started_at, cpu_seconds(server.pid) - used
    print(
        f"  {label:34} {seconds * 1000:7.0f} ms, cpu {used * 1000:6.0f} ms, slowest probe {probe.slowest_seconds * 1000:5.0f} ms"
    )


def kubectl_create(server: ControlPlane, name: str) -> None:
    """Run ``kubectl create`` of a ConfigMap with empty caches."""
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
    with tempfile.TemporaryDirectory() as cache:
        command = ["kubectl", f"--kubeconfig={server.kubeconfig}", f"--cache-dir={cache}", "create", "-f", "-"]
        subprocess.run(command, input=json.dumps(obj), text=True, check=True, capture_output=True)


def run(count: int, kilobytes: int, *, kubectl: bool) -> None:
    """Measure one size."""
    print(f"{count} definitions of {kilobytes} kB")
    with ControlPlane() as server:
        connection = Connection(server)
        for number in range(count):
            code, body = connection.request("POST", _DEFINITIONS, definition(number, kilobytes))
            assert code == 201, body
        last = f"/apis/g{count - 1}.example.com/v1/things{count - 1}" if count else "/api"
        while connection.request("GET", last)[0] != 200:
            time.sleep(0.05)
        if kubectl:
            for number in range(2):
                with measured(server, f"kubectl create, {number + 1}. run"):
                    kubectl_create(server, f"a{number}")
        document = f"/openapi/v3/apis/g{count - 1}.example.com/v1" if count else "/openapi/v3/apis/apps/v1"
        requests = {
            "/openapi/v3": ("/openapi/v3", "*/*"),
            "/openapi/v3, again": ("/openapi/v3", "*/*"),
            "one document": (document, "*/*"),
            "one document, protobuf": (document, _PROTOBUF_V3),
            "/openapi/v2": ("/openapi/v2", "*/*"),
            "/openapi/v2, again": ("/openapi/v2", "*/*"),
            "/openapi/v2, protobuf": ("/openapi/v2", _PROTOBUF_V2),
        }
        for label, (path, accept) in requests.items():
            with measured(server, label):
                code, body = connection.request("GET", path, accept=accept)
            assert code == 200, body
        if count:
            changed = definition(0, kilobytes)
            changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "changed"
            name = changed["metadata"]["name"]
            with measured(server, "one definition changes"):
                current = json.loads(connection.request("GET", f"{_DEFINITIONS}/{name}")[1])
                current["spec"]["versions"] = changed["spec"]["versions"]
                code, body = connection.request("PUT", f"{_DEFINITIONS}/{name}", current)
            assert code == 200, body
            with measured(server, "/openapi/v3 after it"):
                connection.request("GET", "/openapi/v3")
            with measured(server, "/openapi/v2 after it"):
                connection.request("GET", "/openapi/v2")


def main() -> None:
    """Measure all sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubectl", action="store_true", help="also run kubectl")
    parser.add_argument("--only", type=int, help="the size with so many definitions")
    arguments = parser.parse_args()
    for count, kilobytes in _SIZES:
        if arguments.only in (None, count):
            run(count, kilobytes, kubectl=arguments.kubectl and shutil.which("kubectl") is not None)


if __name__ == "__main__":
    main()
