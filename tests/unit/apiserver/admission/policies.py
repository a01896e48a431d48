"""API server with the admission policy plugins, and helpers that create policies."""

from __future__ import annotations

from typing import Any

from tests.unit.apiserver.writing import CONFIG_MAPS, AllowAllBut, Answer, Server

from steersman.apiserver.admission.chain import AdmissionChain
from steersman.apiserver.admission.validating_policy import ValidatingAdmissionPolicy
from steersman.apiserver.endpoints.router import Router

GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}


class Policed(Server):
    """Server whose authorizer allows all verbs but ``forbidden_verb``."""

    def __init__(self, *plugins: Any, forbidden_verb: str = "") -> None:
        super().__init__()
        authorizer = AllowAllBut(forbidden_verb)
        created = [plugin(self.registry, authorizer=authorizer) for plugin in plugins or (ValidatingAdmissionPolicy,)]
        self.admission = AdmissionChain(created)
        self.router = Router(self.registry, admission=self.admission, authorizer=authorizer, connect={})

    async def policy(self, name: str = "p", *, match: Any = None, **spec: Any) -> None:
        """Create a policy for ConfigMaps, unless ``match`` selects others."""
        constraints = {"resourceRules": [RULE], **(match or {})}
        spec = {"matchConstraints": constraints, **spec}
        await self.make(f"{GROUP}/validatingadmissionpolicies", metadata={"name": name}, spec=spec)

    async def bind(self, name: str = "p", **spec: Any) -> None:
        """Create a binding of the policy with the action Deny."""
        spec = {"policyName": name, "validationActions": ["Deny"], **spec}
        await self.make(f"{GROUP}/validatingadmissionpolicybindings", metadata={"name": name}, spec=spec)

    async def enforce(self, *expressions: str, **spec: Any) -> None:
        """Create a policy of these expressions, and its binding."""
        await self.policy(validations=[{"expression": text} for text in expressions], **spec)
        await self.bind()

    async def write(self, data: Any = None, *, query: str = "", **metadata: Any) -> Answer:
        """Try to create a config map."""
        body = {"metadata": {"name": "a", **metadata}, "data": data or {"k": "v"}}
        return await self.call("POST", CONFIG_MAPS, body, query=query)


def denial(answer: Answer) -> str:
    """Return the text of a denial after the names of policy and binding."""
    return str(answer.body["message"]).partition(" denied request: ")[2]
