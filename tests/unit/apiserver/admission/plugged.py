"""API server with admission plugins that look up other objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.apiserver.writing import PODS, AllowAllBut, Answer, Server, pod_spec

from steersman.apiserver.admission.chain import AdmissionChain
from steersman.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from steersman.apiserver.endpoints.router import Router
from steersman.apiserver.endpoints.subresources import subresources

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.admission.interface import Plugin
    from steersman.apiserver.generic.registry import StoredResource

    Factory = Callable[[Callable[[str], StoredResource]], Plugin]


class Plugged(Server):
    """Server whose plugins are created by ``factories`` from the lookup of stored resources."""

    def __init__(self, *factories: Factory, **more: Any) -> None:
        super().__init__(**more)
        stored = self.registry.stored
        plugins = [factory(stored) for factory in factories]
        self.admission = AdmissionChain([NamespaceLifecycle(stored("namespaces").cache), *plugins])
        authorizer = AllowAllBut()
        connect = subresources(self.registry, admission=self.admission, authorizer=authorizer)
        self.router = Router(self.registry, admission=self.admission, authorizer=authorizer, connect=connect)

    async def pod(self, name: str = "a", *, query: str = "", metadata: Any = None, **spec: Any) -> Answer:
        """Try to create a pod."""
        body = {"metadata": {"name": name, **(metadata or {})}, "spec": pod_spec(**spec)}
        return await self.call("POST", PODS, body, query=query)


def refusal(answer: Answer) -> str:
    """Return the text of a 403 after ``is forbidden``."""
    assert answer.code == 403, answer.body
    return answer.body["message"].partition(" is forbidden: ")[2]
