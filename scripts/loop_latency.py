"""Measure the latency of ``/livez`` while an API server processes the most expensive legal requests.

    python scripts/loop_latency.py             # all of them
    python scripts/loop_latency.py rules yaml  # those whose names begin so
    python scripts/loop_latency.py --memory    # objects in memory; default: in a database on disk
    python scripts/loop_latency.py --limit 100 # exit with 1 if an answer took more milliseconds

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
RBAC = "rbac.authorization.k8s.io/v1"
JSON = "application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
YAML = "application/yaml"
#: Name, method, path, content type (of a read: the accepted type), body.
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

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = JSON, *, accept: str = JSON
    ) -> tuple[int, bytes]:
        """Return the code and body of a response."""
        self._connection.request(method, path, body, {**self._headers, "content-type": kind, "accept": accept})
        answer = self._connection.getresponse()
        return answer.status, answer.read()


def definition(plural: str, schema: dict[str, Any]) -> bytes:
    """Return a CustomResourceDefinition whose objects have a ``spec`` of that schema."""
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
    """Return the definitions that the cases need."""
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
    """Return a custom object."""
    kind = plural[:-1].title()
    return json.dumps({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}).encode()


def cases() -> Iterator[Case]:
    """Return the expensive requests."""
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
    yield from core_cases()
    yield from lists()
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


def core_cases() -> Iterator[Case]:
    """Return writes of core and RBAC objects, up to the largest body."""
    text = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "text"}, "data": {"k": "x" * 1_000_000}}
    yield "configmap with a text of 1 MB", "POST", f"{NAMESPACE}/configmaps", JSON, json.dumps(text).encode()
    data = {f"k{number}": f"v{number}" for number in range(150_000)}
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "keys"}, "data": data}
    yield "configmap with 150,000 keys", "POST", f"{NAMESPACE}/configmaps", JSON, json.dumps(body).encode()
    yield "configmap that exists", "POST", f"{NAMESPACE}/configmaps", JSON, json.dumps(body).encode()
    operations = [{"op": "add", "path": "/data/new", "value": "x"}]
    patch = json.dumps(operations).encode()
    yield "json patch of 150,000 keys", "PATCH", f"{NAMESPACE}/configmaps/keys", "application/json-patch+json", patch
    yield "configmap of 3 MB, as a Table", "GET", f"{NAMESPACE}/configmaps/keys", TABLE, b""
    yield "configmap of 3 MB, as YAML", "GET", f"{NAMESPACE}/configmaps/keys", YAML, b""
    yield "deletion of 150,000 keys", "DELETE", f"{NAMESPACE}/configmaps/keys", JSON, b""
    annotations = {f"a{number}": "x" * 100 for number in range(2_300)}
    yield "pod with annotations of 250 kB", "POST", f"{NAMESPACE}/pods", JSON, pod("annotations", annotations)
    env = [{"name": f"N{number}", "value": "v"} for number in range(75_000)]
    yield "pod with 75,000 variables", "POST", f"{NAMESPACE}/pods", JSON, pod("env", containers=[container(0, env=env)])
    containers = [container(number) for number in range(40_000)]
    yield "pod with 40,000 containers", "POST", f"{NAMESPACE}/pods", JSON, pod("containers", containers=containers)
    rules = [{"apiGroups": [""], "resources": [f"r{number}"], "verbs": ["get"]} for number in range(40_000)]
    role = {"kind": "Role", "apiVersion": RBAC, "metadata": {"name": "large"}, "rules": rules}
    yield "role of 40,000 rules", "POST", f"/apis/{RBAC}/namespaces/default/roles", JSON, json.dumps(role).encode()
    subjects = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": f"u{n}"} for n in range(40_000)]
    reference = {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io", "name": "large"}
    binding = {"kind": "RoleBinding", "apiVersion": RBAC, "metadata": {"name": "large"}, "subjects": subjects}
    body = {**binding, "roleRef": reference}
    path = f"/apis/{RBAC}/namespaces/default/rolebindings"
    yield "binding of 40,000 subjects", "POST", path, JSON, json.dumps(body).encode()


def lists() -> Iterator[Case]:
    """Return lists of 20 objects of 1 MB and one of 2.5 MB, in each format."""
    for name, accept in (("JSON", JSON), ("Table", TABLE), ("YAML", YAML), ("metadata in protobuf", METADATA)):
        yield f"list of 20 MB, {name}", "GET", f"{NAMESPACE}/configmaps", accept, b""
    yield "list of 20 MB, selected", "GET", f"{NAMESPACE}/secrets?fieldSelector=type%3DOpaque", JSON, b""


def make_lists(client: Client) -> None:
    """Create the objects of ``lists``."""
    text = "".join(f"line {number}\n" for number in range(80_000))
    for number in range(20):
        metadata = {"name": f"listed{number}", "labels": {"a": "b"}}
        body = {"apiVersion": "v1", "metadata": metadata}
        code, answer = client.ask(
            "POST", f"{NAMESPACE}/configmaps", json.dumps({**body, "kind": "ConfigMap", "data": {"k": text}}).encode()
        )
        assert code == 201, answer
        code, answer = client.ask(
            "POST", f"{NAMESPACE}/secrets", json.dumps({**body, "kind": "Secret", "stringData": {"k": text}}).encode()
        )
        assert code == 201, answer


def pod(name: str, annotations: dict[str, str] | None = None, *, containers: list[Any] | None = None) -> bytes:
    """Return a pod."""
    metadata = {"name": name, "annotations": annotations or {}}
    spec = {"containers": containers or [container(0)]}
    return json.dumps({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}).encode()


def container(number: int, **rest: Any) -> dict[str, Any]:
    """Return a container."""
    return {"name": f"c{number}", "image": "i", **rest}


def slowest_livez(server: ControlPlane, done: threading.Event) -> float:
    """Request ``/livez`` until ``done``; return the slowest response in seconds."""
    client = Client(server)
    slowest = 0.0
    while not done.wait(0.002):
        began = time.perf_counter()
        client.ask("GET", "/livez")
        slowest = max(slowest, time.perf_counter() - began)
    return slowest


def measure(server: ControlPlane, case: Case) -> tuple[int, float, float]:
    """Return code and duration of one request, and the slowest ``/livez`` meanwhile."""
    _, method, path, kind, body = case
    done, latencies = threading.Event(), []
    prober = threading.Thread(target=lambda: latencies.append(slowest_livez(server, done)))
    prober.start()
    time.sleep(0.2)
    began = time.perf_counter()
    accept = kind if method == "GET" else JSON
    code, text = Client(server).ask(method, path, body or None, kind, accept=accept)
    seconds = time.perf_counter() - began
    done.set()
    prober.join()
    if code >= 400:
        print(f"    {text[:200]!r}", file=sys.stderr)
    return code, seconds, latencies[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of the cases' names; default: all")
    parser.add_argument("--memory", action="store_true", help="keep objects in memory")
    parser.add_argument("--limit", type=float, help="milliseconds that no answer of /livez may take longer than")
    options = parser.parse_args()
    names: list[str] = options.names
    is_exceeded = False
    with ControlPlane(ephemeral=options.memory) as server:
        client = Client(server)
        for name, body in definitions().items():
            code, text = client.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
            if code != 201:
                raise SystemExit(f"{name}: {text.decode()}")
        while client.ask("GET", f"{CUSTOM}/lists")[0] != 200:
            time.sleep(0.1)
        account = json.dumps({"metadata": {"name": "default"}}).encode()
        client.ask("POST", f"{NAMESPACE}/serviceaccounts", account)  # without it no pod is admitted
        if not names or any(name.startswith("list of 20") for name in names):
            make_lists(client)
        for case in cases():
            if names and not case[0].startswith(tuple(names)):
                continue
            code, seconds, slowest = measure(server, case)
            is_exceeded |= options.limit is not None and slowest * 1000 > options.limit
            print(f"{case[0]:32} {code} {seconds * 1000:8.0f} ms   /livez {slowest * 1000:6.0f} ms", flush=True)
        print("\n".join(line for line in server.log.splitlines() if "held the event loop" in line))
    return 1 if is_exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
