"""Scenario of admission policies: each status has the warnings of the current spec."""

from __future__ import annotations

from typing import Any

from tests.conformance.histories import Scenario, World

from steersman.client import custom, tree

API = "admissionregistration.k8s.io/v1"
POLICIES = tree(API, "ValidatingAdmissionPolicy")
WIDGETS = custom("example.com/v1", "Widget", plural="widgets")
NAMES = ("p1", "p2", "p3")
#: Resources of a rule → kinds that it is checked against.
MATCHED: tuple[tuple[tuple[str, str, str], tuple[str, ...]], ...] = (
    (("", "v1", "pods"), ("Pod",)),
    (("apps", "v1", "deployments"), ("Deployment",)),
    (("apps", "v1", "deployments/scale"), ()),
    (("apps", "*", "deployments"), ()),
    (("example.com", "v1", "widgets"), ("Widget",)),
    (("example.com", "v1", "nothing"), ()),
)
#: Expressions → kinds for which they have type errors.
EXPRESSIONS: dict[str, frozenset[str]] = {
    "true": frozenset(),
    "object.metadata.name.startsWith('a')": frozenset(),
    "object.spec.replicas > 1": frozenset({"Pod"}),
    "object.spec.replicas > 'many'": frozenset({"Pod", "Deployment", "Widget"}),
    "object.spec.nodeName == 'n'": frozenset({"Deployment", "Widget"}),
}


class Policies(Scenario):
    """Users create and change policies, and overwrite their status; a custom kind exists."""

    controllers = ("validatingadmissionpolicy-status-controller",)

    async def prepare(self, world: World) -> None:
        await world.define(WIDGETS, properties={"replicas": {"type": "integer"}})

    async def edit(self, world: World) -> None:
        edits = [self.make, self.make, self.make, self.change, self.change, self.change, self.forget, self.remove]
        await world.dice.choice(edits)(world, world.dice.choice(NAMES))

    def _spec(self, world: World) -> dict[str, Any]:
        dice = world.dice
        named = [names for names, _ in dice.sample(MATCHED, dice.choice([1, 1, 2, 3]))]
        rules = [
            {"apiGroups": [group], "apiVersions": [version], "resources": [resource], "operations": ["CREATE"]}
            for group, version, resource in named
        ]
        chosen = dice.sample(sorted(EXPRESSIONS), dice.choice([1, 2, 3]))
        return {
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": expression} for expression in chosen],
        }

    async def make(self, world: World, name: str) -> None:
        validating_admission_policy = {
            "apiVersion": API,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
        }
        await world.client.create({**validating_admission_policy, "spec": self._spec(world)})

    async def change(self, world: World, name: str) -> None:
        await world.client.patch(POLICIES, name, {"spec": self._spec(world)})

    async def forget(self, world: World, name: str) -> None:
        """Clear the status."""
        policy = await world.client.get(POLICIES, name)
        await world.client.update_status({**policy, "status": {}})

    async def remove(self, world: World, name: str) -> None:
        await world.client.delete(POLICIES, name)

    async def wrong(self, world: World) -> str:
        for policy in await world.client.list(POLICIES):
            name, status = policy["metadata"]["name"], policy.get("status") or {}
            if status.get("observedGeneration") != policy["metadata"]["generation"]:
                return f"{name}: generation {policy['metadata']['generation']} was not looked at: {status}"
            expression_warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or []
            reported, expected = [warning["fieldRef"] for warning in expression_warnings], _faults(policy["spec"])
            if sorted(reported) != sorted(expected):
                return (
                    f"{name}: warnings about {reported} instead of {expected}: {expression_warnings}, {policy['spec']}"
                )
        return ""


def _faults(spec: dict[str, Any]) -> list[str]:
    accepted = dict(MATCHED)
    rules = spec["matchConstraints"]["resourceRules"]
    named = [(rule["apiGroups"][0], rule["apiVersions"][0], rule["resources"][0]) for rule in rules]
    kinds = {kind for names in named for kind in accepted[names]}
    expressions = [validation["expression"] for validation in spec["validations"]]
    return [f"spec.validations[{at}].expression" for at, text in enumerate(expressions) if EXPRESSIONS[text] & kinds]
