"""Scenario of aggregated ClusterRoles: they have the rules of the selected roles, each once, and no other.

Expected states are from "Using RBAC Authorization" of Kubernetes' documentation.
"""

from __future__ import annotations

import json
from typing import Any

from tests.conformance.histories import Edits, Scenario, World

from steersman.client import tree

ROLES = tree("rbac.authorization.k8s.io/v1", "ClusterRole")
LEAVES = ("leaf1", "leaf2", "leaf3", "leaf4")
#: Some select leaves, others select those: no role selects itself indirectly.
MIDDLES = ("middle1", "middle2")
TOPS = ("top1", "top2")
WORDS = ("a", "b", "c")


class Clusterroles(Scenario):
    """Users create roles and rules, change labels, and overwrite aggregated rules."""

    controllers = ("clusterrole-aggregation-controller",)

    def edits(self) -> Edits:
        return [self.make_leaf, self.make_leaf, self.change_rules, self.relabel, self.remove, self.make_aggregate,
                self.make_aggregate, self.select_others, self.overwrite, self.extend_admin]  # fmt: skip

    async def make_leaf(self, world: World) -> None:
        await self._make(world, world.dice.choice(LEAVES), "leaf", rules=self._rules(world))

    async def make_aggregate(self, world: World) -> None:
        name = world.dice.choice([*MIDDLES, *TOPS])
        await self._make(world, name, _level(name), aggregationRule=self._aggregation(world, name))

    async def change_rules(self, world: World) -> None:
        await world.client.patch(ROLES, world.dice.choice(LEAVES), {"rules": self._rules(world)})

    async def relabel(self, world: World) -> None:
        labels = {"word": world.dice.choice([*WORDS, None])}
        await world.client.patch(ROLES, self._any(world), {"metadata": {"labels": labels}})

    async def remove(self, world: World) -> None:
        await world.client.delete(ROLES, self._any(world))

    async def select_others(self, world: World) -> None:
        name = world.dice.choice([*MIDDLES, *TOPS])
        await world.client.patch(ROLES, name, {"aggregationRule": self._aggregation(world, name)})

    async def overwrite(self, world: World) -> None:
        """Write rules into an aggregated role, which the controller must replace."""
        rules = world.dice.choice([None, self._rules(world)])
        await world.client.patch(ROLES, world.dice.choice([*MIDDLES, *TOPS, "admin"]), {"rules": rules})

    async def extend_admin(self, world: World) -> None:
        """Add a role for a custom kind, as operators do."""
        metadata = {"labels": {"rbac.authorization.k8s.io/aggregate-to-view": world.dice.choice(["true", "false"])}}
        await world.client.patch(ROLES, world.dice.choice(LEAVES), {"metadata": metadata})

    def _any(self, world: World) -> str:
        return world.dice.choice([*LEAVES, *MIDDLES, *TOPS])

    async def _make(self, world: World, name: str, level: str, **more: Any) -> None:
        labels = {"level": level, "word": world.dice.choice(WORDS)}
        cluster_role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", **more}
        await world.client.create({**cluster_role, "metadata": {"name": name, "labels": labels}})

    def _rules(self, world: World) -> list[dict[str, Any]]:
        """Return rules of a small set, so that roles overlap."""
        resources = world.dice.sample(["x", "y", "z"], world.dice.randrange(3))
        return [{"apiGroups": [""], "resources": [resource], "verbs": ["get"]} for resource in resources]

    def _aggregation(self, world: World, name: str) -> dict[str, Any]:
        below = "leaf" if _level(name) == "middle" else "middle"
        by_word = {"matchLabels": {"level": below, "word": world.dice.choice(WORDS)}}
        word_in = {"key": "word", "operator": "In", "values": world.dice.sample(WORDS, 2)}
        by_words = {"matchLabels": {"level": below}, "matchExpressions": [word_in]}
        return {"clusterRoleSelectors": world.dice.choice([[by_word], [by_words], [by_word, by_words]])}

    async def wrong(self, world: World) -> str:
        roles = {role["metadata"]["name"]: role for role in await world.client.list(ROLES)}
        for name, role in roles.items():
            if role.get("aggregationRule"):
                reported = [json.dumps(rule, sort_keys=True) for rule in role.get("rules") or ()]
                expected = _rules_of(role, roles)
                if len(reported) != len(set(reported)):
                    return f"{name} has a rule twice: {reported}"
                if set(reported) != expected:
                    return f"{name} has {sorted(reported)} instead of {sorted(expected)}"
        return ""


def _level(name: str) -> str:
    return name.rstrip("0123456789")


def _rules_of(role: dict[str, Any], roles: dict[str, dict[str, Any]]) -> set[str]:
    """Return the rules that a role must have: its own, or recursively those of the roles it selects."""
    aggregation = role.get("aggregationRule")
    if not aggregation:
        return {json.dumps(rule, sort_keys=True) for rule in role.get("rules") or ()}
    selected = [
        other
        for other in roles.values()
        if any(_selects(cluster_role_selector, other) for cluster_role_selector in aggregation["clusterRoleSelectors"])
    ]
    return {rule for other in selected if other is not role for rule in _rules_of(other, roles)}


def _selects(selector: dict[str, Any], role: dict[str, Any]) -> bool:
    labels = role["metadata"].get("labels") or {}
    return (selector.get("matchLabels") or {}).items() <= labels.items() and all(
        labels.get(match_expression["key"]) in match_expression["values"]
        for match_expression in selector.get("matchExpressions") or ()
    )
