"""Expensive requests within the API server's limits, for ``scripts/loop_latency.py``."""

from __future__ import annotations

import base64
import http.client
import json
import random
import socket
import ssl
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from steersman.asynckit.certificates import make_ca, make_server
from steersman.asynckit.clock import RealClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from steersman.testing import ControlPlane

NAMESPACE = "/api/v1/namespaces/default"
CROWD = "/api/v1/namespaces/crowd"
CUSTOM = "/apis/example.com/v1/namespaces/default"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
RBAC = "rbac.authorization.k8s.io/v1"
ADMISSION = "admissionregistration.k8s.io/v1"
JSON = "application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"
METADATA = f"{PROTOBUF};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
YAML = "application/yaml"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

OBJECTS = 20_000
MANY_DEFINITIONS = 500
RULES = 10_000
FLOOD = 400
FLOOD_CONNECTIONS = 8


class Client:
    """One connection, opened with its first request."""

    def __init__(self, server: ControlPlane) -> None:
        self.server = server
        self._connection = connection(server.url, str(server.ca))
        self._headers = {"authorization": f"Bearer {server.token}"}

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = JSON, *, accept: str = JSON
    ) -> tuple[int, bytes]:
        """Return the code and body of a response."""
        response = self.open(method, path, body, kind, accept=accept)
        return response.status, response.read()

    def open(
        self, method: str, path: str, body: bytes | None = None, kind: str = JSON, *, accept: str = JSON
    ) -> http.client.HTTPResponse:
        """Return a response, whose body is not read."""
        self._connection.request(method, path, body, {**self._headers, "content-type": kind, "accept": accept})
        return self._connection.getresponse()

    def create(self, path: str, tree: Any) -> None:
        """Create an object; it may exist."""
        code, text = self.ask("POST", path, json.dumps(tree).encode())
        if code not in (201, 409):
            raise SystemExit(f"{path}: {text.decode()}")


def connection(url: str, ca: str) -> http.client.HTTPSConnection:
    """Return a connection to an API server."""
    address = urlsplit(url)
    context = ssl.create_default_context(cafile=ca)
    return http.client.HTTPSConnection(address.hostname or "", address.port, context=context, timeout=300)


@dataclass(frozen=True)
class Case:
    """Expensive request, or a flood of them."""

    name: str
    #: Sends it; returns the code and the beginning of the body of a response.
    send: Callable[[Client], tuple[int, bytes]]
    #: Setup, run once for all cases.
    prepare: Callable[[Client], None] | None = None


def single(
    name: str,
    method: str,
    path: str,
    kind: str = JSON,
    body: bytes | None = None,
    *,
    prepare: Callable[[Client], None] | None = None,
) -> Case:
    """Return a case of one request; ``kind`` is the content type of a write, else the accepted type."""
    accept = kind if method == "GET" else JSON
    return Case(name, lambda client: client.ask(method, path, body, kind, accept=accept), prepare)


def flood(
    name: str, send: Callable[[Client], tuple[int, bytes]], prepare: Callable[[Client], None] | None = None
) -> Case:
    """Return a case that sends ``FLOOD`` times on several connections."""

    def send_all(client: Client) -> tuple[int, bytes]:
        with ThreadPoolExecutor(FLOOD_CONNECTIONS) as threads:
            answers = list(threads.map(lambda _: send(per_thread(client.server)), range(FLOOD)))
        return max(answers, key=lambda answer: answer[0])

    return Case(name, send_all, prepare)


_local = threading.local()


def per_thread(server: ControlPlane) -> Client:
    """Return the client of this thread."""
    client: Client | None = getattr(_local, "client", None)
    if client is None or client.server is not server:
        client = _local.client = Client(server)
    return client


def create_all(client: Client, path: str, trees: Iterable[Any]) -> None:
    """Create objects on several connections."""
    with ThreadPoolExecutor(FLOOD_CONNECTIONS) as threads:
        list(threads.map(lambda tree: per_thread(client.server).create(path, tree), trees))


def definition(
    plural: str, schema: dict[str, Any], *, group: str = "example.com", columns: Iterable[Any] = ()
) -> dict[str, Any]:
    """Return a CustomResourceDefinition whose objects have a ``spec`` of that schema."""
    names = {"plural": plural, "singular": plural[:-1], "kind": plural[:-1].title(), "listKind": plural.title()}
    whole = {"type": "object", "properties": {"spec": schema}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    version["additionalPrinterColumns"] = list(columns)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def custom(plural: str, spec: Any) -> bytes:
    """Return a custom object."""
    kind = plural[:-1].title()
    return json.dumps({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}).encode()


def config_map(name: str, data: Any, **metadata: Any) -> dict[str, Any]:
    """Return a ConfigMap."""
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, **metadata}, "data": data}


def pod(name: str, annotations: dict[str, str] | None = None, *, containers: list[Any] | None = None) -> bytes:
    """Return a pod."""
    metadata = {"name": name, "annotations": annotations or {}}
    spec = {"containers": containers or [container(0)]}
    return json.dumps({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}).encode()


def container(number: int, **rest: Any) -> dict[str, Any]:
    """Return a container."""
    return {"name": f"c{number}", "image": "i", **rest}


def cases() -> Iterator[Case]:
    """Return all cases in order of their dependencies on earlier objects."""
    yield from custom_resources()
    yield from core_writes()
    yield from patches()
    yield from lists_of_large_objects()
    yield from definitions()
    yield from lists_of_many_objects()
    yield from discovery()
    yield from floods()
    yield from webhooks()


def create_definitions(client: Client) -> None:
    """Create the definitions of ``custom_resources``, and wait until they are served."""
    numbers = {"type": "array", "maxItems": 300, "items": {"type": "integer"}}
    rule = "self.all(a, self.all(b, a + b >= 0"
    rules = [{"rule": f"{rule} || {number} > 0))"} for number in range(30)]
    text = {"type": "string"}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    items = {"type": "array", "items": {"type": "object", "properties": {"name": text, "value": text}}}
    ruled = {"type": "object", "properties": {"n": {**numbers, "x-kubernetes-validations": rules}}}
    patterned = {"type": "object", "properties": {"t": {**text, "pattern": "(?:a|b)*a[ab]{80}x"}}}
    listed = {"type": "object", "properties": {"items": items}}
    for plural, schema in (("rules", ruled), ("patterns", patterned), ("frees", free), ("lists", listed)):
        columns = [{"name": "Name", "type": "string", "jsonPath": ".spec.items[*].name"}] if plural == "lists" else []
        client.create(DEFINITIONS, definition(plural, schema, columns=columns))
    wait_served(client, f"{CUSTOM}/lists")


def wait_served(client: Client, path: str) -> None:
    """Return when a LIST succeeds."""
    while client.ask("GET", path)[0] != 200:
        threading.Event().wait(0.1)


def custom_resources() -> Iterator[Case]:
    """Return requests for large or expensive custom objects."""
    numbers = custom("rules", {"n": list(range(300))})
    yield single("rules: 30 of 300 x 300", "POST", f"{CUSTOM}/rules", body=numbers, prepare=create_definitions)
    letters = "".join(random.Random(1).choices("ab", k=1_000_000))
    yield single(
        "patterns: NFA on 1 MB",
        "POST",
        f"{CUSTOM}/patterns",
        body=custom("patterns", {"t": letters}),
        prepare=create_definitions,
    )
    items = [{"name": f"n{number}", "value": "v"} for number in range(90_000)]
    large, changed = custom("lists", {"items": items}), json.dumps({"spec": {"items": items[::-1]}}).encode()
    yield single("custom list, 3 MB", "POST", f"{CUSTOM}/lists", body=large, prepare=create_definitions)
    yield single("custom list, patch of 3 MB", "PATCH", f"{CUSTOM}/lists/x", MERGE, changed, prepare=create_definitions)
    yield single(
        "custom without schema, 3 MB",
        "POST",
        f"{CUSTOM}/frees",
        body=custom("frees", {"items": items}),
        prepare=create_definitions,
    )
    labels = {f"l{number}": "v" for number in range(10_000)}
    patch = json.dumps({"metadata": {"labels": labels}}).encode()
    yield single("custom list, small patch", "PATCH", f"{CUSTOM}/lists/x", MERGE, patch, prepare=create_definitions)
    yield single("custom list, in a list", "GET", f"{CUSTOM}/lists", prepare=create_definitions)
    yield single("custom list, as a Table", "GET", f"{CUSTOM}/lists", TABLE, prepare=create_definitions)


def core_writes() -> Iterator[Case]:
    """Return writes of core and RBAC objects, up to the largest body."""
    data = "".join(f"  k{number}: v{number}\n" for number in range(150_000))
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: large}}\ndata:\n{data}".encode()
    yield single("yaml of 2.5 MB", "POST", f"{NAMESPACE}/configmaps", YAML, text)
    yield single(
        "yaml apply of 2.5 MB", "PATCH", f"{NAMESPACE}/configmaps/large?force=true&fieldManager=m", APPLY, text
    )
    env = [{"name": f"N{number}", "value": "v"} for number in range(40_000)]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container(0, env=env)]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}).encode()
    yield single("deployment of 1.2 MB", "POST", DEPLOYMENTS, body=body)
    yield single("update of 1.2 MB", "PUT", f"{DEPLOYMENTS}/d", body=body.replace(b'"v"', b'"w"'))
    strategic = "application/strategic-merge-patch+json"
    yield single("patch of 1.2 MB", "PATCH", f"{DEPLOYMENTS}/d", strategic, b'{"metadata":{"labels":{"a":"b"}}}')
    yield single("deletion of 1.2 MB", "DELETE", f"{DEPLOYMENTS}/d")
    body = json.dumps(config_map("text", {"k": "x" * 1_000_000})).encode()
    yield single("configmap with a text of 1 MB", "POST", f"{NAMESPACE}/configmaps", body=body)
    body = json.dumps(config_map("keys", {f"k{number}": f"v{number}" for number in range(150_000)})).encode()
    yield single("configmap with 150,000 keys", "POST", f"{NAMESPACE}/configmaps", body=body)
    yield single("configmap that exists", "POST", f"{NAMESPACE}/configmaps", body=body)
    duplicate = body.replace(b'"k1"', b'"k0"').replace(b'"name": "keys"', b'"name": "duplicate"')
    yield single("configmap with a duplicate key", "POST", f"{NAMESPACE}/configmaps", body=duplicate)
    surrogate = body.replace(b'"v0"', rb'"\ud800"').replace(b'"name": "keys"', b'"name": "surrogate"')
    yield single("configmap with half a surrogate", "POST", f"{NAMESPACE}/configmaps", body=surrogate)
    malformed = body[:-1] + b"]"
    yield single("configmap with a syntax error", "POST", f"{NAMESPACE}/configmaps", body=malformed)
    patch = json.dumps([{"op": "add", "path": "/data/new", "value": "x"}]).encode()
    keys = f"{NAMESPACE}/configmaps/keys"
    yield single("json patch of 150,000 keys", "PATCH", keys, JSON_PATCH, patch)
    for name, accept in (("a Table", TABLE), ("YAML", YAML), ("protobuf", PROTOBUF)):
        yield single(f"configmap of 3 MB, as {name}", "GET", keys, accept)
    yield single("deletion of 150,000 keys", "DELETE", keys)
    annotations = {f"a{number}": "x" * 100 for number in range(2_300)}
    pods = f"{NAMESPACE}/pods"
    yield single("pod with annotations of 250 kB", "POST", pods, body=pod("annotations", annotations), prepare=account)
    env = [{"name": f"N{number}", "value": "v"} for number in range(75_000)]
    yield single(
        "pod with 75,000 variables", "POST", pods, body=pod("env", containers=[container(0, env=env)]), prepare=account
    )
    containers = [container(number) for number in range(40_000)]
    yield single(
        "pod with 40,000 containers", "POST", pods, body=pod("containers", containers=containers), prepare=account
    )
    rules = [{"apiGroups": [""], "resources": [f"r{number}"], "verbs": ["get"]} for number in range(40_000)]
    role = {"kind": "Role", "apiVersion": RBAC, "metadata": {"name": "large"}, "rules": rules}
    path = f"/apis/{RBAC}/namespaces/default"
    yield single("role of 40,000 rules", "POST", f"{path}/roles", body=json.dumps(role).encode())
    subjects = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": f"u{n}"} for n in range(40_000)]
    reference = {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io", "name": "large"}
    binding = {"kind": "RoleBinding", "apiVersion": RBAC, "metadata": {"name": "large"}, "subjects": subjects}
    body = json.dumps({**binding, "roleRef": reference}).encode()
    yield single("binding of 40,000 subjects", "POST", f"{path}/rolebindings", body=body)


def account(client: Client) -> None:
    """Create the service account without which no pod is admitted."""
    client.create(f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})


def create_managers(client: Client) -> None:
    """Create a ConfigMap of 30,000 keys that 60 managers own."""
    for manager in range(60):
        data = {f"m{manager}k{number}": "v" for number in range(500)}
        body = json.dumps(config_map("managers", data)).encode()
        path = f"{NAMESPACE}/configmaps/managers?fieldManager=m{manager}"
        code, text = client.ask("PATCH", path, body, APPLY)
        if code not in (200, 201):
            raise SystemExit(text.decode())


def patches() -> Iterator[Case]:
    """Return applies among many managers, and long JSON patches."""
    path = f"{NAMESPACE}/configmaps/managers"
    data = {f"m{manager}k{number}": "w" for manager in range(60) for number in range(500)}
    body = json.dumps(config_map("managers", data)).encode()
    yield single(
        "apply, conflicts with 60 managers", "PATCH", f"{path}?fieldManager=z", APPLY, body, prepare=create_managers
    )
    yield single("apply, takes from 60 managers", "PATCH", f"{path}?fieldManager=z&force=true", APPLY, body)
    add = [{"op": "add", "path": f"/data/n{number}", "value": "x"} for number in range(10_000)]
    yield single("json patch of 10,000 additions", "PATCH", path, JSON_PATCH, json.dumps(add).encode())
    copies = [{"op": "copy", "from": "/data", "path": "/metadata/annotations"}] * 10_000
    yield single("json patch of 10,000 copies", "PATCH", path, JSON_PATCH, json.dumps(copies).encode())
    # the largest map that is compared, as often as a patch allows
    tests = [{"op": "test", "path": "/data", "value": {}}] * 10_000
    yield single("json patch of 10,000 tests", "PATCH", path, JSON_PATCH, json.dumps(tests).encode())


def create_large_objects(client: Client) -> None:
    """Create the objects of ``lists_of_large_objects``: 20 of 1 MB of two kinds."""
    text = "".join(f"line {number}\n" for number in range(80_000))
    for number in range(20):
        name = f"listed{number}"
        client.create(f"{NAMESPACE}/configmaps", config_map(name, {"k": text}, labels={"a": "b"}))
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"k": text}}
        client.create(f"{NAMESPACE}/secrets", secret)


def lists_of_large_objects() -> Iterator[Case]:
    """Return lists of 20 objects of 1 MB and a few larger ones, in each format."""
    formats = (
        ("JSON", JSON),
        ("Table", TABLE),
        ("YAML", YAML),
        ("protobuf", PROTOBUF),
        ("metadata in protobuf", METADATA),
    )
    for name, accept in formats:
        yield single(f"list of 20 MB, {name}", "GET", f"{NAMESPACE}/configmaps", accept, prepare=create_large_objects)
    path = f"{NAMESPACE}/secrets?fieldSelector=type%3DOpaque"
    yield single("list of 20 MB, selected", "GET", path, prepare=create_large_objects)


def definitions() -> Iterator[Case]:
    """Return expensive definitions."""
    properties = {f"p{n}": {"type": "string", "pattern": rf"\pL{{{n % 40}}}{n}"} for n in range(500)}
    body = json.dumps(definition("manies", {"type": "object", "properties": properties})).encode()
    yield single("definition with 500 patterns", "POST", DEFINITIONS, body=body)
    text = {"type": "string", "maxLength": 10}
    rules = [{"rule": f"self.t.contains('{n}') || self.t.size() < {n}"} for n in range(500)]
    schema = {"type": "object", "properties": {"t": text}, "x-kubernetes-validations": rules}
    yield single(
        "definition with 500 rules", "POST", DEFINITIONS, body=json.dumps(definition("ruleds", schema)).encode()
    )
    for megabytes, fields in ((1, 14_000), (3, 40_000)):
        flat = {
            "type": "object",
            "properties": {f"p{n}": {**text, "description": f"Field {n}."} for n in range(fields)},
        }
        plural = f"wide{megabytes}s"
        body = json.dumps(definition(plural, flat)).encode()
        yield single(f"definition of {megabytes} MB", "POST", DEFINITIONS, body=body)
        path = f"{CUSTOM}/{plural}"
        yield single(
            f"definition of {megabytes} MB, first list", "GET", path, prepare=lambda c, path=path: wait_served(c, path)
        )
        patch = b'{"metadata":{"labels":{"a":"b"}}}'
        yield single(
            f"definition of {megabytes} MB, patch", "PATCH", f"{DEFINITIONS}/{plural}.example.com", MERGE, patch
        )
    yield single("documents of large definitions", "GET", "/openapi/v3/apis/example.com/v1")
    yield single("documents of all, JSON", "GET", "/openapi/v2")
    yield single(
        "documents of all, protobuf", "GET", "/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    )


def create_crowd(client: Client) -> None:
    """Create the objects of ``lists_of_many_objects``."""
    client.create("/api/v1/namespaces", {"metadata": {"name": "crowd"}})
    trees = (config_map(f"c{n}", {"k": "v" * 100}, labels={"n": str(n), "even": str(n % 2)}) for n in range(OBJECTS))
    create_all(client, f"{CROWD}/configmaps", trees)


def lists_of_many_objects() -> Iterator[Case]:
    """Return lists, watches and deletions of many small objects."""
    path = f"{CROWD}/configmaps"
    name = f"list of {OBJECTS:,}"
    for label, accept in (("JSON", JSON), ("Table", TABLE), ("protobuf", PROTOBUF), ("YAML", YAML)):
        yield single(f"{name}, {label}", "GET", path, accept, prepare=create_crowd)
    values = quote(f"n in ({','.join(str(n) for n in range(5_000))})")
    yield single(f"{name}, 5,000 values", "GET", f"{path}?labelSelector={values}", prepare=create_crowd)
    terms = quote(",".join(f"n!={n}" for n in range(4_000)))
    yield single(f"{name}, 4,000 terms", "GET", f"{path}?labelSelector={terms}", prepare=create_crowd)
    fields = quote(",".join(f"metadata.name!=c{n}" for n in range(2_000)))
    yield single(f"{name}, 2,000 fields", "GET", f"{path}?fieldSelector={fields}", prepare=create_crowd)
    query = (
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=60"
    )
    for label, accept in (("JSON", JSON), ("Table", TABLE)):
        yield Case(
            f"watch of {OBJECTS:,}, {label}",
            lambda client, accept=accept: initial_events(client, f"{path}?{query}", accept),
            create_crowd,
        )
    yield single(
        f"deletion of {OBJECTS // 2:,}, selected", "DELETE", f"{path}?labelSelector=even%3D0", prepare=create_crowd
    )
    yield single(f"deletion of {OBJECTS // 2:,}", "DELETE", path)


def initial_events(client: Client, path: str, accept: str) -> tuple[int, bytes]:
    """Read a watch up to the end of its initial events."""
    response = client.open("GET", path, accept=accept)
    line = b""
    for line in response:
        if b"k8s.io/initial-events-end" in line:
            break
    return response.status, line


def create_many_definitions(client: Client) -> None:
    """Create ``MANY_DEFINITIONS`` definitions of one group."""
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(20)}}
    create_all(
        client, DEFINITIONS, (definition(f"m{n}s", schema, group="many.example.com") for n in range(MANY_DEFINITIONS))
    )
    wait_served(client, f"/apis/many.example.com/v1/m{MANY_DEFINITIONS - 1}s")


def discovery() -> Iterator[Case]:
    """Return discovery and documents of many definitions."""
    name = f"{MANY_DEFINITIONS} definitions"

    def create(client: Client) -> tuple[int, bytes]:
        create_many_definitions(client)
        return 201, b""

    yield Case(f"{name}, create", create)
    yield single(f"{name}, discovery", "GET", "/apis", DISCOVERY, prepare=create_many_definitions)
    yield single(f"{name}, discovery of one group", "GET", "/apis/many.example.com/v1", prepare=create_many_definitions)
    yield single(f"{name}, OpenAPI v3", "GET", "/openapi/v3/apis/many.example.com/v1", prepare=create_many_definitions)
    yield single(f"{name}, OpenAPI v2", "GET", "/openapi/v2", prepare=create_many_definitions)
    yield single(f"{name}, list", "GET", DEFINITIONS, prepare=create_many_definitions)
    yield single(f"{name}, list as YAML", "GET", DEFINITIONS, YAML, prepare=create_many_definitions)


def create_rules(client: Client) -> None:
    """Bind ``RULES`` rules, in roles of 1,000, to one user."""
    group = RBAC.partition("/")[0]
    for number in range(RULES // 1000):
        names = [f"r{number}x{n}" for n in range(1000)]
        rules = [{"apiGroups": [""], "resources": [name], "verbs": ["get"]} for name in names]
        role = {"metadata": {"name": f"flood{number}"}, "rules": rules}
        client.create(f"/apis/{RBAC}/clusterroles", role)
        reference = {"kind": "ClusterRole", "apiGroup": group, "name": f"flood{number}"}
        subjects = [{"kind": "User", "apiGroup": group, "name": "jane"}]
        binding = {"metadata": {"name": f"flood{number}"}, "roleRef": reference, "subjects": subjects}
        client.create(f"/apis/{RBAC}/clusterrolebindings", binding)


def floods() -> Iterator[Case]:
    """Return floods of reviews and handshakes."""
    attributes = {"namespace": "default", "verb": "delete", "resource": "secrets"}
    review = json.dumps({"spec": {"user": "jane", "resourceAttributes": attributes}}).encode()
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    name = f"of a user with {RULES:,} rules"
    yield flood(f"{FLOOD} access reviews {name}", lambda client: client.ask("POST", path, review), create_rules)
    rules = json.dumps({"spec": {"namespace": "default"}}).encode()
    path_of_rules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    yield Case(f"rules review {name}", lambda client: as_jane(client, "POST", path_of_rules, rules), create_rules)
    token = json.dumps({"spec": {"token": f"e30.{'A' * 8000}.AA"}}).encode()
    tokens = "/apis/authentication.k8s.io/v1/tokenreviews"
    yield flood(f"{FLOOD} token reviews", lambda client: client.ask("POST", tokens, token))
    yield flood(f"{FLOOD} TLS handshakes", handshake)


def as_jane(client: Client, method: str, path: str, body: bytes) -> tuple[int, bytes]:
    """Send a request as the user of ``create_rules``."""
    link = connection(client.server.url, str(client.server.ca))
    headers = {"authorization": f"Bearer {client.server.token}", "impersonate-user": "jane", "content-type": JSON}
    link.request(method, path, body, headers)
    response = link.getresponse()
    return response.status, response.read()


def handshake(client: Client) -> tuple[int, bytes]:
    """Open a connection and close it."""
    address = urlsplit(client.server.url)
    context = ssl.create_default_context(cafile=str(client.server.ca))
    with (
        socket.create_connection((address.hostname or "", address.port or 0), timeout=60) as raw,
        context.wrap_socket(raw, server_hostname=address.hostname) as link,
    ):
        return 200, (link.version() or "").encode()


class PatchingWebhook(BaseHTTPRequestHandler):
    """Mutating webhook that adds 150,000 keys of data."""

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        response = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch", "patch": large_patch()}
        body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response})
        self.send_response(200)
        self.send_header("content-type", JSON)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


@cache
def large_patch() -> str:
    """Return a JSON patch of 2.2 MB, in base64 3 MB."""
    data = {f"w{number}": "x" for number in range(150_000)}
    return base64.b64encode(json.dumps([{"op": "add", "path": "/data", "value": data}]).encode()).decode()


def start_webhook(client: Client) -> None:
    """Start the webhook in a thread and configure it for ConfigMaps with a label."""
    life = timedelta(days=1)
    authority = make_ca("webhook-ca", now=RealClock().now(), life=life)
    pems = make_server("webhook", ["127.0.0.1"], authority, now=RealClock().now(), life=life)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        certificate, key = Path(directory, "crt"), Path(directory, "key")
        certificate.write_bytes(pems.certificate)
        key.write_bytes(pems.key)
        context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), PatchingWebhook)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bundle = base64.b64encode(authority.certificate).decode()
    config = {"url": f"https://127.0.0.1:{server.server_port}", "caBundle": bundle}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    webhook = {
        "name": "patch.example.com",
        "clientConfig": config,
        "rules": [rule],
        "objectSelector": {"matchLabels": {"patched": "yes"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    client.create(
        f"/apis/{ADMISSION}/mutatingwebhookconfigurations", {"metadata": {"name": "p"}, "webhooks": [webhook]}
    )


def webhooks() -> Iterator[Case]:
    """Return a write that a webhook enlarges, and one whose review is large."""
    for name, data in (("small object", {"k": "v"}), ("object of 3 MB", {f"k{n}": f"v{n}" for n in range(150_000)})):
        tree = config_map(f"patched-{len(data)}", data, labels={"patched": "yes"})
        path = f"{NAMESPACE}/configmaps"
        yield single(
            f"webhook patches of 3 MB, {name}", "POST", path, body=json.dumps(tree).encode(), prepare=start_webhook
        )
