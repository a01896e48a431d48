"""API server with the webhook plugins, and an HTTPS webhook server."""

from __future__ import annotations

import base64
import json
from random import Random
from typing import TYPE_CHECKING, Any, Self

from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response
from tests.unit.apiserver.writing import CONFIG_MAPS, AllowAllBut, Answer, Server

from steersman.apiserver.admission.chain import AdmissionChain
from steersman.apiserver.admission.mutating_webhook import MutatingAdmissionWebhook
from steersman.apiserver.admission.validating_webhook import ValidatingAdmissionWebhook
from steersman.apiserver.admission.webhook_calls import WebhookServices
from steersman.apiserver.endpoints.router import Router
from steersman.apiserver.request import Annotations, LatencyTracker
from steersman.apiserver.webhooks.client import WebhookClients
from steersman.apiserver.webhooks.services import StoredServices

if TYPE_CHECKING:
    from steersman.apiserver.http import Request

GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}


def patch_response(*operations: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a response that patches."""
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patch": patch, "patchType": "JSONPatch", **more}


class Hooked(Server):
    """``responses``: the response of each webhook by path; bytes are a raw HTTP response, None closes the connection."""

    def __init__(self, **responses: Any) -> None:
        super().__init__()
        authorizer = AllowAllBut("")
        resolver = StoredServices(lambda name: self.registry.stored(name).cache, dice=Random(1))
        self.clients = WebhookClients(resolver, clock=self.clock)
        self.services = WebhookServices(self.registry, authorizer=authorizer, clients=self.clients, dice=Random(1))
        plugins = [MutatingAdmissionWebhook(self.services), ValidatingAdmissionWebhook(self.services)]
        self.admission = AdmissionChain(plugins)
        self.router = Router(self.registry, admission=self.admission, authorizer=authorizer, connect={})
        self.responses = responses
        self.hooks = WebhookServer(self._respond)
        #: Audit annotations and latency of the last request.
        self.annotations = Annotations()
        self.latency = LatencyTracker()
        #: Paths and requests of the calls, in order.
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self.hooks.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.clients.close()
        await self.hooks.__aexit__()
        await super().__aexit__(*exception)

    def request(self, *arguments: Any, **more: Any) -> Request:
        request = super().request(*arguments, **more)
        request.annotations = self.annotations = Annotations()
        self.latency = request.latency
        return request

    async def _respond(self, path: str, review: Any) -> bytes | None:
        name = path.lstrip("/")
        self.calls.append((name, review["request"]))
        response = self.responses[name]
        if response is None or isinstance(response, bytes):
            return response
        return http_response({**review, "response": {"uid": review["request"]["uid"], **response}})

    @property
    def called(self) -> list[str]:
        """Names of the webhooks that were called."""
        return [name for name, _ in self.calls]

    async def configure(self, plural: str, *names: str, configuration: str = "a", **fields: Any) -> None:
        """Create a configuration of webhooks with common fields."""
        webhooks = [
            {
                "name": f"{name}.example.com",
                "clientConfig": {"url": f"{self.hooks.url}/{name}", "caBundle": ca_bundle()},
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "rules": [RULE],
                **fields,
            }
            for name in names
        ]
        await self.make(f"{GROUP}/{plural}webhookconfigurations", metadata={"name": configuration}, webhooks=webhooks)

    async def write(self, data: Any = None, *, query: str = "", **metadata: Any) -> Answer:
        """Try to create a config map."""
        body = {"metadata": {"name": "a", **metadata}, "data": data or {"k": "v"}}
        return await self.call("POST", CONFIG_MAPS, body, query=query)
