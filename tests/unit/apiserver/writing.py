"""In-memory write path for tests of the write verbs."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlencode

from tests.unit.apiserver.lagging import LaggingStore

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.admission.chain import AdmissionChain
from steersman.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from steersman.apiserver.authz.interface import ALLOW, NO_OPINION
from steersman.apiserver.endpoints.router import Router
from steersman.apiserver.endpoints.subresources import subresources
from steersman.apiserver.filters.request_info import parse, refine
from steersman.apiserver.generic.registry import Registry
from steersman.apiserver.http import Request
from steersman.apiserver.kinds.catalog import BuiltInKinds
from steersman.apiserver.request import RequestContext, UserInfo
from steersman.asynckit.clock import FakeClock
from steersman.asynckit.tasks import Supervisor
from steersman.schema.resources import table
from steersman.storage.memory import MemoryStore

if TYPE_CHECKING:
    from steersman.apiserver.admission.interface import Plugin
    from steersman.storage.store import Batch

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
USER = UserInfo("tester", groups=("system:masters",))


class Answer(NamedTuple):
    code: int
    body: Any
    warnings: list[str]


class AllowAllBut:
    """Authorizer that allows everything but one verb."""

    def __init__(self, verb: str = "") -> None:
        self.verb = verb

    def authorize(self, user: UserInfo, info: Any) -> Any:
        return NO_OPINION if info.verb == self.verb else ALLOW


class Server:
    """Registry, admission and router; the namespace ``default`` exists."""

    def __init__(
        self,
        *plugins: Plugin,
        strategies: Any = None,
        forbidden_verb: str = "",
        event_ttl_seconds: int = 3600,
        **registry: Any,
    ) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(clock=self.clock)
        self.tasks = Supervisor("test")
        #: What the registry reads and writes: with ``remote``, writes past it come late.
        self.view: Any = LaggingStore(self.store) if registry.get("remote") else self.store
        self.registry = Registry(
            self.view,
            clock=self.clock,
            tasks=self.tasks,
            dice=random.Random(1),
            resources=table().resources,
            kinds=BuiltInKinds(strategies, event_ttl_seconds=event_ttl_seconds),
            **registry,
        )
        lifecycle = NamespaceLifecycle(self.registry.stored("namespaces").cache)
        self.admission = AdmissionChain([lifecycle, *plugins])
        authorizer = AllowAllBut(forbidden_verb)
        connect = subresources(self.registry, admission=self.admission, authorizer=authorizer)
        self.router = Router(self.registry, admission=self.admission, authorizer=authorizer, connect=connect)

    async def __aenter__(self) -> Self:
        await self.call("POST", "/api/v1/namespaces", {"metadata": {"name": "default"}})
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.registry.close()
        await self.tasks.close()
        await self.store.close()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, str] | str = "",
        media_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> Request:
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": raw}

        fields = {"user-agent": "unit-test/1.0", "content-type": media_type, **(headers or {})}
        scope = {
            "method": method,
            "path": path,
            "query_string": (query if isinstance(query, str) else urlencode(query)).encode(),
            "headers": [(name.encode(), value.encode()) for name, value in fields.items() if value],
        }
        request = Request(scope, receive)
        request.user, request.audit_id = USER, "audit"
        info = parse(method, path)
        refined = info.is_resource and not info.name and info.verb in ("get", "list")
        request.info = refine(info, request.raw_query) if refined else info
        return request

    async def call(self, *arguments: Any, **more: Any) -> Answer:
        """Return the response to a request; a StatusError as its Status."""
        request = self.request(*arguments, **more)
        try:
            response = await self.router(request)
        except StatusError as error:
            return Answer(error.code, error.status, request.warnings.texts)
        body = response.body
        if response.stream is not None:
            body = b"".join([piece async for piece in response.stream])
        return Answer(response.code, json.loads(body) if body.startswith(b"{") else body, request.warnings.texts)

    async def make(self, path: str = CONFIG_MAPS, **parts: Any) -> Any:
        """Create an object named ``a`` unless ``metadata`` says otherwise."""
        metadata = {"name": "a", **parts.pop("metadata", {})}
        answer = await self.call("POST", path, {"metadata": metadata, **parts})
        assert answer.code == 201, answer.body
        return answer.body

    async def merge(self, path: str, patch: Any, **more: Any) -> Answer:
        return await self.call("PATCH", path, patch, media_type=MERGE_PATCH, **more)

    async def apply(self, path: str, config: Any, *, manager: str = "one", query: str = "", **more: Any) -> Answer:
        query = f"fieldManager={manager}" + (f"&{query}" if query else "")
        return await self.call("PATCH", path, config, media_type=APPLY_PATCH, query=query, **more)

    def context(self, group_resource: str = "configmaps", **more: Any) -> RequestContext:
        namespace = more.pop("namespace", "default")
        user = more.pop("user", USER)
        return RequestContext(user, self.clock.now(), namespace=namespace, group_resource=group_resource, **more)

    async def events(self, prefix: str) -> list[tuple[str, int]]:
        """Return a growing list of events under a prefix from now on (key, or ``-key`` for deletes)."""
        seen: list[tuple[str, int]] = []

        def sink(batch: Batch) -> None:
            seen.extend((("" if event.value else "-") + event.key, event.mod_revision) for event in batch.events)

        await self.store.watch(prefix, sink, after_revision=self.store.revision, on_lost=lambda _: None)
        return seen


PODS = "/api/v1/namespaces/default/pods"


def pod_spec(**spec: Any) -> dict[str, Any]:
    """Return a Pod spec."""
    return {"containers": [{"name": "c", "image": "i"}], **spec}


def deployment(**spec: Any) -> dict[str, Any]:
    """Return a Deployment spec."""
    template = {"metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"selector": {"matchLabels": {"x": "y"}}, "template": template, **spec}


def causes(answer: Answer) -> list[tuple[str, str]]:
    """Return reason and field of each cause of an error."""
    return [(cause.get("reason", ""), cause.get("field", "")) for cause in answer.body["details"].get("causes", [])]
