"""A write path with the plugins of admission policies, and policies for it."""

from __future__ import annotations

from typing import Any

from tests.unit.apiserver.writing import CONFIG_MAPS, AllowAllBut, Answer, Server

from steersman.apiserver.admission.chain import AdmissionChain
from steersman.apiserver.admission.validating_policy import ValidatingAdmissionPolicy
from steersman.apiserver.endpoints.router import Router

GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}


class Policed(Server):
    """Everybody may do everything but ``forbidden_verb``."""

    def __init__(self, *plugins: Any, forbidden_verb: str = "") -> None:
        super().__init__()
        authorizer = AllowAllBut(forbidden_verb)
        made = [plugin(self.registry, authorizer=authorizer) for plugin in plugins or (ValidatingAdmissionPolicy,)]
        self.admission = AdmissionChain(made)
        self.router = Router(self.registry, admission=self.admission, authorizer=authorizer, connect={})

    async def policy(self, name: str = "p", *, match: Any = None, **spec: Any) -> None:
        """A policy for config maps, unless ``match`` says otherwise."""
        constraints = {"resourceRules": [RULE], **(match or {})}
        spec = {"matchConstraints": constraints, **spec}
        await self.make(f"{GROUP}/validatingadmissionpolicies", metadata={"name": name}, spec=spec)

    async def bind(self, name: str = "p", **spec: Any) -> None:
        """A binding of the policy of that name, which denies."""
        spec = {"policyName": name, "validationActions": ["Deny"], **spec}
        await self.make(f"{GROUP}/validatingadmissionpolicybindings", metadata={"name": name}, spec=spec)

    async def enforce(self, *expressions: str, **spec: Any) -> None:
        """A policy of these expressions, bound."""
        await self.policy(validations=[{"expression": text} for text in expressions], **spec)
        await self.bind()

    async def write(self, data: Any = None, *, query: str = "", **metadata: Any) -> Answer:
        """Try to create a config map."""
        body = {"metadata": {"name": "a", **metadata}, "data": data or {"k": "v"}}
        return await self.call("POST", CONFIG_MAPS, body, query=query)


def told(answer: Answer) -> str:
    """What a denial says after the names of policy and binding."""
    return str(answer.body["message"]).partition(" denied request: ")[2]
