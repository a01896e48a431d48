"""A custom resource in two versions, and the webhook that converts between them.

``v1`` has ``spec.size`` (``10x20``), ``v2`` has ``spec.width`` and ``spec.height``.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.busy_machine import HANG_SECONDS
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response

from steersman.controlplane.options import APIServerOptions
from steersman.testing import InProcessAPIServer

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = f"{DEFINITIONS}/screens.example.com"
V1 = "/apis/example.com/v1/namespaces/default/screens"
V2 = "/apis/example.com/v2/namespaces/default/screens"
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


def schema(**spec: Any) -> dict[str, Any]:
    status = {"type": "object", "properties": {"shown": _NUMBER}}
    properties = {"spec": {"type": "object", "properties": {**spec, "replicas": _NUMBER}}, "status": status}
    return {"openAPIV3Schema": {"type": "object", "properties": properties}}


def version(name: str, *, storage: bool, columns: list[Any], **spec: Any) -> dict[str, Any]:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.shown"}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": schema(**spec),
        "subresources": {"status": {}, "scale": scale},
        "additionalPrinterColumns": columns,
        "selectableFields": [{"jsonPath": column["jsonPath"]} for column in columns],
    }


def definition(conversion: dict[str, Any], *, stored: str = "v1") -> dict[str, Any]:
    size = [{"name": "Size", "type": "string", "jsonPath": ".spec.size"}]
    width = [{"name": "Width", "type": "integer", "jsonPath": ".spec.width"}]
    return {
        "metadata": {"name": "screens.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "screens", "kind": "Screen"},
            "conversion": conversion,
            "versions": [
                version("v1", storage=stored == "v1", columns=size, size=_TEXT),
                version("v2", storage=stored == "v2", columns=width, width=_NUMBER, height=_NUMBER),
            ],
        },
    }


def webhook(url: str, *, versions: tuple[str, ...] = ("v1",)) -> dict[str, Any]:
    client_config = {"url": url, "caBundle": ca_bundle()}
    return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": versions, "clientConfig": client_config}}


def screen(name: str, spec: dict[str, Any], *, version: str = "v1", **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, **metadata}
    return {"apiVersion": f"example.com/{version}", "kind": "Screen", "metadata": metadata, "spec": spec}


def convert(tree: dict[str, Any], api_version: str) -> dict[str, Any]:
    """Convert as the operator would."""
    converted = {**copy.deepcopy(tree), "apiVersion": api_version}
    spec = converted.get("spec") or {}
    if api_version.endswith("/v2") and "size" in spec:
        width, height = spec.pop("size").split("x")
        spec |= {"width": int(width), "height": int(height)}
    elif api_version.endswith("/v1") and "width" in spec:
        spec["size"] = f"{spec.pop('width')}x{spec.pop('height')}"
    return converted


class Converter(WebhookServer):
    """Webhook whose answers a test may change: ``change`` gets the review with its response."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.change: Callable[[dict[str, Any]], Any] = lambda review: review
        self.is_down = False
        #: Runs once before the next conversion to ``v1`` is answered.
        self.before_v1: Callable[[], Awaitable[Any]] | None = None

    @property
    def calls(self) -> list[list[str]]:
        """Names of the objects of each call."""
        return [[item["metadata"].get("name", "") for item in body["request"]["objects"]] for body in self.bodies]

    async def _answer(self, _: str, review: Any) -> bytes | None:
        if self.is_down:
            return None
        request = review.pop("request")
        if self.before_v1 is not None and request["desiredAPIVersion"] == "example.com/v1":
            before, self.before_v1 = self.before_v1, None
            await before()
        objects = [convert(item, request["desiredAPIVersion"]) for item in request["objects"]]
        review["response"] = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
        answer = self.change(review)
        review["request"] = request
        return answer if isinstance(answer, bytes) else http_response(answer)


async def request(server: InProcessAPIServer, method: str, path: str, tree: Any = None, **headers: str) -> Any:
    """Return the decoded answer of a request."""
    body = b"" if tree is None else json.dumps(tree).encode()
    answer = await server.request(method, path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
    return {"code": 404} if answer.body == b"404 page not found\n" else answer.json()


async def until(server: InProcessAPIServer, path: str, holds: Callable[[Any], bool]) -> Any:
    """Repeat a GET, giving the server's loops their turns, until its answer satisfies the condition."""
    async with asyncio.timeout(HANG_SECONDS):
        while not holds(answer := await request(server, "GET", path)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # noqa: TID251 — the server runs on the real clock
    return answer


@asynccontextmanager
async def converted_screens(
    converter: Converter, *, gates: dict[str, bool] | None = None, **fields: Any
) -> AsyncIterator[InProcessAPIServer]:
    """Serve both versions of the resource, stored in ``v1``."""
    options = APIServerOptions(ephemeral=True, feature_gates=gates or {})
    async with converter, InProcessAPIServer(options=options) as server:
        tree = definition(webhook(f"{converter.url}/convert", **fields))
        assert "spec" in await request(server, "POST", DEFINITIONS, tree)
        for path in (V1, V2):
            await until(server, path, lambda answer: answer.get("kind") == "ScreenList")
        yield server
