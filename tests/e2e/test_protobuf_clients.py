"""Requests of Go's generated clientsets: bodies in protobuf, and answers in protobuf before JSON."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.all_kinds import OBJECTS
from tests.busy_machine import HANG_SECONDS

from steersman.schema import protobuf
from steersman.schema.resources import table
from steersman.testing import ControlPlane

ACCEPT = f"{protobuf.MEDIA_TYPE},application/json"


class Clientset:
    """Requests as client-go 1.36 makes them by default."""

    def __init__(self, server: ControlPlane) -> None:
        self._url = urlsplit(server.url)
        self._headers = {"Authorization": f"Bearer {server.token}"}
        self._tls = ssl.create_default_context(cafile=str(server.ca))

    def ask(
        self, method: str, path: str, tree: Any = None, *, accept: str = ACCEPT, patch: str = ""
    ) -> tuple[int, str, Any]:
        """Return the code, the media type and the decoded body of an answer."""
        connection = self._connect()
        headers = {**self._headers, "Accept": accept}
        body = json.dumps(tree).encode() if patch else None if tree is None else protobuf.encode_body(tree)
        if body is not None:
            headers["Content-Type"] = patch or protobuf.MEDIA_TYPE
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            raw, media_type = response.read(), response.getheader("content-type") or ""
        finally:
            connection.close()
        decoded: Any = raw
        if media_type == protobuf.MEDIA_TYPE:
            decoded = protobuf.decode_body(raw)
        elif media_type == "application/json":
            decoded = json.loads(raw)
        return response.status, media_type, decoded

    def frames(self, path: str) -> Iterator[bytes]:
        """Yield the frames of a watch, without their lengths."""
        connection = self._connect()
        try:
            connection.request("GET", path, headers={**self._headers, "Accept": ACCEPT})
            response = connection.getresponse()
            assert response.getheader("content-type") == f"{protobuf.MEDIA_TYPE};stream=watch"
            while size := response.read(4):
                yield response.read(int.from_bytes(size, "big"))
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._url.hostname or "", self._url.port, context=self._tls, timeout=HANG_SECONDS
        )


@pytest.fixture
def clientset():
    with ControlPlane() as server:
        yield Clientset(server)


def path_of(tree: dict[str, Any]) -> str:
    (resource,) = [
        r
        for r in table().resources
        if (r.kind, r.api_version) == (tree["kind"], tree["apiVersion"]) and "create" in r.verbs
    ]
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    namespace = f"/namespaces/{tree['metadata'].get('namespace', 'default')}" if resource.namespaced else ""
    return f"{root}{namespace}/{resource.name}"


def test_every_kind_is_created_read_listed_patched_and_deleted(clientset):
    account = {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "default"}}
    clientset.ask("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    for tree in OBJECTS:
        path, name = path_of(tree), tree["metadata"].get("name", "")
        code, media_type, answer = clientset.ask("POST", path, tree)
        assert (code, media_type) == (201, protobuf.MEDIA_TYPE), (path, answer)
        if not name:
            continue
        code, media_type, shown = clientset.ask("GET", f"{path}/{name}")
        assert (code, media_type, shown["metadata"]["name"]) == (200, protobuf.MEDIA_TYPE, name)
        code, media_type, shown = clientset.ask("GET", path)
        assert (code, shown["kind"]) == (200, f"{tree['kind']}List")
        assert name in [item["metadata"]["name"] for item in shown["items"]]
        patch = {"metadata": {"annotations": {"example.com/a": "b"}}}
        code, _, shown = clientset.ask("PATCH", f"{path}/{name}", patch, patch="application/merge-patch+json")
        assert (code, shown["metadata"]["annotations"]["example.com/a"]) == (200, "b"), (path, shown)
    for tree in reversed(OBJECTS):
        if name := tree["metadata"].get("name", ""):
            options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
            code, media_type, answer = clientset.ask("DELETE", f"{path_of(tree)}/{name}", options)
            assert (code in (200, 202, 404), media_type) == (True, protobuf.MEDIA_TYPE), answer


def test_custom_resource_definition_life_cycle(clientset):
    schema = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "minimum": 1, "default": 3},
            "mode": {"type": "string", "enum": ["a", "b"]},
        },
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    tree = {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]},
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    code, media_type, created = clientset.ask("POST", path, tree)
    assert (code, media_type) == (201, protobuf.MEDIA_TYPE)
    properties = created["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert (properties["size"]["default"], properties["size"]["minimum"]) == (3, 1.0)
    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    while (answer := clientset.ask("GET", widgets))[0] == HTTPStatus.NOT_FOUND:  # until it is established
        pass
    code, media_type, listed = answer
    assert (code, media_type, listed["items"]) == (200, "application/json", [])
    assert clientset.ask("GET", widgets, accept=protobuf.MEDIA_TYPE)[0] == 406
    metadata = f"{protobuf.MEDIA_TYPE};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    assert clientset.ask("GET", widgets, accept=metadata)[2]["kind"] == "PartialObjectMetadataList"
    assert clientset.ask("DELETE", f"{path}/widgets.example.com")[0] == 200


def test_watch_sends_length_delimited_frames(clientset):
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    types = []
    for frame in clientset.frames(f"/api/v1/namespaces?{query}"):
        assert protobuf.MAGIC in frame
        types.append(frame[2 : 2 + frame[1]].decode())
        if types[-1] == "BOOKMARK":
            break
    assert types[0] == "ADDED"
    assert types[-1] == "BOOKMARK"


@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"])
def test_discovery_in_protobuf(clientset, path):
    assert clientset.ask("GET", path)[:2] == (200, protobuf.MEDIA_TYPE)
