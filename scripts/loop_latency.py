"""Measure how long ``/livez`` waits while an API server works on the most expensive requests that are legal.

    python scripts/loop_latency.py             # all of them
    python scripts/loop_latency.py rules yaml  # those whose names begin so

Each request is sent once, on a connection of its own, while another connection asks for ``/livez`` every few milliseconds. The
table has the code and the duration of the request, and the slowest answer of ``/livez`` meanwhile.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import ssl
import sys
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from steersman.testing import ControlPlane

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMESPACE = "/api/v1/namespaces/default"
CUSTOM = "/apis/example.com/v1/namespaces/default"
JSON = "application/json"
#: Name, method, path, content type, body.
Case = tuple[str, str, str, str, bytes]


class Client:
    """One connection."""

    def __init__(self, server: ControlPlane) -> None:
        address = urlsplit(server.url)
        context = ssl.create_default_context(cafile=str(server.ca))
        self._connection = http.client.HTTPSConnection(
            address.hostname or "", address.port, context=context, timeout=120
        )
        self._headers = {"authorization": f"Bearer {server.token}"}

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = JSON) -> tuple[int, bytes]:
        """The code and body of an answer."""
        self._connection.request(method, path, body, {**self._headers, "content-type": kind})
        answer = self._connection.getresponse()
        return answer.status, answer.read()


def definition(plural: str, schema: dict[str, Any]) -> bytes:
    """A custom resource definition whose objects have a ``spec`` of that schema."""
    names = {"plural": plural, "singular": plural[:-1], "kind": plural[:-1].title(), "listKind": plural.title()}
    whole = {"type": "object", "properties": {"spec": schema}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    return json.dumps(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.example.com"},
            "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]},
        }
    ).encode()


def definitions() -> dict[str, bytes]:
    """What the cases need."""
    numbers = {"type": "array", "maxItems": 300, "items": {"type": "integer"}}
    rule = "self.all(a, self.all(b, a + b >= 0"
    rules = [{"rule": f"{rule} || {number} > 0))"} for number in range(30)]
    text = {"type": "string"}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    items = {"type": "array", "items": {"type": "object", "properties": {"name": text, "value": text}}}
    return {
        "rules": definition(
            "rules", {"type": "object", "properties": {"n": {**numbers, "x-kubernetes-validations": rules}}}
        ),
        "patterns": definition(
            "patterns", {"type": "object", "properties": {"t": {**text, "pattern": "(?:a|b)*a[ab]{80}x"}}}
        ),
        "frees": definition("frees", free),
        "lists": definition("lists", {"type": "object", "properties": {"items": items}}),
    }


def custom(plural: str, spec: Any) -> bytes:
    """A custom object."""
    kind = plural[:-1].title()
    return json.dumps({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}).encode()


def cases() -> Iterator[Case]:
    """The expensive requests."""
    yield "rules: 30 of 300 x 300", "POST", f"{CUSTOM}/rules", JSON, custom("rules", {"n": list(range(300))})
    yield (
        "patterns: NFA on 1 MB",
        "POST",
        f"{CUSTOM}/patterns",
        JSON,
        custom("patterns", {"t": "".join(random.Random(1).choices("ab", k=1_000_000))}),
    )
    items = [{"name": f"n{number}", "value": "v"} for number in range(60_000)]
    yield "custom list, 2 MB", "POST", f"{CUSTOM}/lists", JSON, custom("lists", {"items": items})
    yield "custom without schema, 2 MB", "POST", f"{CUSTOM}/frees", JSON, custom("frees", {"items": items})
    data = "".join(f"  k{number}: v{number}\n" for number in range(150_000))
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: large}}\ndata:\n{data}".encode()
    yield "yaml of 2.5 MB", "POST", f"{NAMESPACE}/configmaps", "application/yaml", text
    yield (
        "yaml apply of 2.5 MB",
        "PATCH",
        f"{NAMESPACE}/configmaps/large?force=true&fieldManager=m",
        "application/apply-patch+yaml",
        text,
    )
    env = [{"name": f"N{number}", "value": "v"} for number in range(40_000)]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i", "env": env}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}).encode()
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    yield "deployment of 1.2 MB", "POST", deployments, JSON, body
    yield "update of 1.2 MB", "PUT", f"{deployments}/d", JSON, body.replace(b'"v"', b'"w"')
    yield (
        "patch of 1.2 MB",
        "PATCH",
        f"{deployments}/d",
        "application/strategic-merge-patch+json",
        b'{"metadata":{"labels":{"a":"b"}}}',
    )
    yield "deletion of 1.2 MB", "DELETE", f"{deployments}/d", JSON, b""
    labels = {f"l{number}": "v" for number in range(10_000)}
    patch = json.dumps({"metadata": {"labels": labels}}).encode()
    yield "merge patch of a large object", "PATCH", f"{CUSTOM}/lists/x", "application/merge-patch+json", patch
    yield "list of a large object", "GET", f"{CUSTOM}/lists", JSON, b""
    schema = {
        "type": "object",
        "properties": {f"p{n}": {"type": "string", "pattern": rf"\pL{{{n % 40}}}{n}"} for n in range(500)},
    }
    yield (
        "definition with 500 patterns",
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        JSON,
        definition("manies", schema),
    )
    self_rules = [{"rule": f"self.t.contains('{n}') || self.t.size() < {n}"} for n in range(500)]
    schema = {
        "type": "object",
        "properties": {"t": {"type": "string", "maxLength": 10}},
        "x-kubernetes-validations": self_rules,
    }
    yield (
        "definition with 500 rules",
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        JSON,
        definition("ruleds", schema),
    )


def slowest_livez(server: ControlPlane, done: threading.Event) -> float:
    """Ask until ``done``; the slowest answer in seconds."""
    client = Client(server)
    slowest = 0.0
    while not done.wait(0.002):
        began = time.perf_counter()
        client.ask("GET", "/livez")
        slowest = max(slowest, time.perf_counter() - began)
    return slowest


def measure(server: ControlPlane, case: Case) -> tuple[int, float, float]:
    """Code and duration of one request, and the slowest ``/livez`` meanwhile."""
    _, method, path, kind, body = case
    done, found = threading.Event(), []
    prober = threading.Thread(target=lambda: found.append(slowest_livez(server, done)))
    prober.start()
    time.sleep(0.2)
    began = time.perf_counter()
    code, text = Client(server).ask(method, path, body or None, kind)
    seconds = time.perf_counter() - began
    done.set()
    prober.join()
    if code >= 400:
        print(f"    {text[:200]!r}", file=sys.stderr)
    return code, seconds, found[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of the cases' names; default: all")
    wanted = parser.parse_args().names
    with ControlPlane() as server:
        client = Client(server)
        for name, body in definitions().items():
            code, text = client.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
            if code != 201:
                raise SystemExit(f"{name}: {text.decode()}")
        while client.ask("GET", f"{CUSTOM}/lists")[0] != 200:
            time.sleep(0.1)
        for case in cases():
            if wanted and not case[0].startswith(tuple(wanted)):
                continue
            code, seconds, slowest = measure(server, case)
            print(f"{case[0]:32} {code} {seconds * 1000:8.0f} ms   /livez {slowest * 1000:6.0f} ms", flush=True)
        print("\n".join(line for line in server.log.splitlines() if "held the event loop" in line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
