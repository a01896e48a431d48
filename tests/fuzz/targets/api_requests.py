"""Requests to a whole API server: no answer is an unexpected 500, and no traceback is logged.

An input is up to six requests about objects of one namespace, most of them well-formed. Each run starts with the same objects.
"""

from __future__ import annotations

import asyncio
import json
import logging
from functools import cache
from typing import Any
from urllib.parse import quote

from tests.fuzz.choices import Choices

from steersman.schema.loader import struct_for
from steersman.testing import InProcessAPIServer

TOKENS = ()
NAMESPACE = "/namespaces/default"
#: Collection, kind, and an object that exists when a run begins.
COLLECTIONS: tuple[tuple[str, tuple[str, str, str], dict[str, Any]], ...] = (
    (f"/api/v1{NAMESPACE}/configmaps", ("", "v1", "ConfigMap"), {"data": {"a": "b"}}),
    (f"/api/v1{NAMESPACE}/pods", ("", "v1", "Pod"), {"spec": {"containers": [{"name": "c", "image": "i"}]}}),
    (f"/api/v1{NAMESPACE}/services", ("", "v1", "Service"), {"spec": {"ports": [{"port": 80}]}}),
    (f"/apis/apps/v1{NAMESPACE}/deployments", ("apps", "v1", "Deployment"),
     {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
    (f"/apis/batch/v1{NAMESPACE}/jobs", ("batch", "v1", "Job"),
     {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}),
    (f"/apis/networking.k8s.io/v1{NAMESPACE}/ingresses", ("networking.k8s.io", "v1", "Ingress"), {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}}),
    (f"/apis/autoscaling/v2{NAMESPACE}/horizontalpodautoscalers", ("autoscaling", "v2", "HorizontalPodAutoscaler"),
     {"spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}}),
    (f"/api/v1{NAMESPACE}/persistentvolumeclaims", ("", "v1", "PersistentVolumeClaim"),
     {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    (f"/apis/rbac.authorization.k8s.io/v1{NAMESPACE}/roles", ("rbac.authorization.k8s.io", "v1", "Role"), {"rules": []}),
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "PATCH", "PATCH", "PATCH", "DELETE", "HEAD", "OPTIONS")
PATCHES = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "text/plain",
)
SUBRESOURCES = ("status", "scale", "log", "exec", "binding", "eviction", "ephemeralcontainers", "resize", "x")
PARAMETERS = {
    "labelSelector": ("a=b", "a in (b", "!a", "a>1", "%"),
    "fieldSelector": ("metadata.name=a", "x=y", "\\", "metadata.namespace!=b"),
    "limit": ("1", "-1", "x", "9" * 30),
    "continue": ("x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "e30"),
    "resourceVersion": ("0", "1", "x", "9" * 30),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x"),
    "fieldManager": ("m", "", "x" * 200, "\x01"),
    "force": ("true", "x"),
    "dryRun": ("All", "x"),
    "fieldValidation": ("Strict", "Warn", "x"),
    "propagationPolicy": ("Orphan", "Foreground", "x"),
    "gracePeriodSeconds": ("0", "-1", "x"),
    "pretty": ("1",),
}
ACCEPTS = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/json;as=Table;g=meta.k8s.io;v=v1",
           "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "text/html", ";")  # fmt: skip


class _Tracebacks(logging.Handler):
    """Collects log records with tracebacks."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.texts.append(logging.Formatter().format(record))


class _Server:
    """An API server that lives as long as the process."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.api = InProcessAPIServer()
        self.tracebacks = _Tracebacks()
        self.loop.run_until_complete(self._start())
        logging.getLogger("steersman").addHandler(self.tracebacks)

    async def _start(self) -> None:
        await self.api.__aenter__()
        account = await self.api.request(
            "POST", f"/api/v1{NAMESPACE}/serviceaccounts", body=b'{"metadata":{"name":"default"}}'
        )
        assert account.code == 201, account.body

    async def reset(self) -> None:
        """Delete and recreate the objects of the namespace."""
        for collection, _, body in COLLECTIONS:
            listed = (await self.api.request("GET", collection)).json()["items"]
            for item in listed:
                await self._remove(f"{collection}/{item['metadata']['name']}", item)
            response = await self.api.request(
                "POST", collection, body=json.dumps({"metadata": {"name": "a"}, **body}).encode()
            )
            assert response.code == 201, response.body

    async def _remove(self, path: str, item: dict[str, Any]) -> None:
        if item["metadata"].get("finalizers"):
            merge = {"content-type": "application/merge-patch+json"}
            await self.api.request("PATCH", path, body=b'{"metadata":{"finalizers":null}}', headers=merge)
        await self.api.request("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")


@cache
def _server() -> _Server:
    return _Server()


def close() -> None:
    """Stop the server; the next run starts another."""
    if _server.cache_info().currsize:
        server = _server()
        logging.getLogger("steersman").removeHandler(server.tracebacks)
        server.loop.run_until_complete(server.api.__aexit__(None, None, None))
        server.loop.close()
        _server.cache_clear()


def run(data: bytes) -> None:
    server = _server()
    server.loop.run_until_complete(_requests(server, Choices(data)))


async def _requests(server: _Server, choices: Choices) -> None:
    await server.reset()
    for _ in range(choices.below(6) + 1):
        method, target, headers, body = _request(choices)
        answer = await server.api.request(method, target, body=body, headers=headers)
        assert b'"reason":"InternalError"' not in answer.body, (
            method,
            target,
            headers,
            body,
            answer.body,
            server.tracebacks.texts,
        )
        assert not server.tracebacks.texts, (method, target, headers, body, server.tracebacks.texts)


def _request(choices: Choices) -> tuple[str, str, dict[str, str], bytes]:
    collection, kind, example = choices.pick(COLLECTIONS)
    method = choices.pick(METHODS)
    path = collection
    if method not in ("POST", "GET") or choices.one_in(3):
        path += "/a"
        if choices.one_in(6):
            path += f"/{choices.pick(SUBRESOURCES)}"
    if choices.one_in(16):
        path = path.replace(
            choices.pick(("/a", "v1", "default", "apis")), choices.pick(("", "%2F", "%00", "..", "ä", "x" * 300))
        )
    pairs = [
        f"{(name := choices.pick(tuple(PARAMETERS)))}={quote(choices.pick(PARAMETERS[name]))}"
        for _ in range(choices.below(3))
    ]
    media = (
        choices.pick(PATCHES)
        if method == "PATCH"
        else choices.pick(("application/json", "application/json", "application/yaml"))
    )
    headers = {"content-type": media, "accept": choices.pick(ACCEPTS) if choices.one_in(4) else "application/json"}
    if media.startswith("application/apply") and not choices.one_in(8):
        pairs.append("fieldManager=fuzz")
    return method, f"{quote(path, safe='/%')}?{'&'.join(pairs)}", headers, _body(choices, kind, example, media)


def _body(choices: Choices, kind: tuple[str, str, str], example: dict[str, Any], media: str) -> bytes:
    if choices.one_in(12):
        return choices.bytes(choices.below(24))
    if media == "application/json-patch+json":
        return json.dumps([{"op": choices.pick(("add", "remove", "replace", "copy")), "path": choices.pick(("/metadata/labels", "/spec", "/data", "/metadata", "")),
                            "value": choices.tree(4), "from": "/metadata"} for _ in range(choices.below(4))]).encode()  # fmt: skip
    group, version, name = kind
    drawn = choices.typed(struct_for(*kind), 8)
    tree = drawn if isinstance(drawn, dict) else {}
    tree = _merged(example, tree) if not choices.one_in(4) else tree
    if not choices.one_in(8):
        metadata = tree.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        if not choices.one_in(4):
            metadata = {
                key: value
                for key, value in metadata.items()
                if key in ("labels", "annotations", "finalizers", "ownerReferences")
            }
        tree["metadata"] = {**metadata, "name": choices.pick(("a", "b"))}
        tree.update(apiVersion=f"{group}/{version}" if group else version, kind=name)
    return json.dumps(tree).encode()


def _merged(left: Any, right: Any) -> Any:
    """Merge a drawn object into an example."""
    if isinstance(left, dict) and isinstance(right, dict):
        return {key: _merged(left.get(key), right[key]) if key in right else left[key] for key in {**left, **right}}
    if isinstance(left, list) and left and isinstance(right, list) and right:
        return [_merged(left[0], item) for item in right]
    return right if right is not None else left
