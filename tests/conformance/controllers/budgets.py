"""Scenario of PodDisruptionBudgets: their statuses are correct whatever pods and controllers do."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from lightkube.models.core_v1 import Pod, ReplicationController
from lightkube.models.policy_v1 import PodDisruptionBudget
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client import tree
from steersman.client.objects import labels_of, name_of
from steersman.runtime.owners import controller_of
from steersman.workloads.pods import is_active, is_ready

APPS = ("a", "b")
SHARES: tuple[dict[str, Any], ...] = (
    {"minAvailable": 2}, {"minAvailable": "50%"}, {"maxUnavailable": 1}, {"maxUnavailable": "30%"},
)  # fmt: skip


class Budgets(Scenario):
    """ReplicationControllers of two apps, and budgets over either or both."""

    controllers = ("disruption-controller", "replicationcontroller-controller", "garbage-collector-controller")

    def edits(self) -> Edits:
        return [
            self.make,
            self.scale,
            self.scale,
            self.protect,
            self.protect,
            self.delete_pod,
            self.evict,
            self.unprotect,
        ]

    async def live(self, world: World) -> None:
        """Act as kubelets: make pods ready, and end deleted ones."""
        for pod in await world.all(Pod):
            if not is_active(pod):
                await world.client.delete(Pod, name_of(pod), namespace=NAMESPACE, grace_period_seconds=0)
            elif not is_ready(pod) and world.dice.random() < 0.5:
                await world.set_ready(pod)

    async def make(self, world: World) -> None:
        app = world.dice.choice(APPS)
        labels = {"app": app, "all": "yes"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "image"}]}}
        spec = {"replicas": world.dice.choice([0, 2, 5]), "selector": {"app": app}, "template": template}
        controller = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": app}, "spec": spec}
        await world.client.create(controller, namespace=NAMESPACE)

    async def scale(self, world: World) -> None:
        patch = {"spec": {"replicas": world.dice.choice([0, 1, 3, 6])}}
        await world.client.patch(ReplicationController, world.dice.choice(APPS), patch, namespace=NAMESPACE)

    async def protect(self, world: World) -> None:
        labels = world.dice.choice([{"app": "a"}, {"app": "b"}, {"all": "yes"}])
        spec = {"selector": {"matchLabels": labels}, **world.dice.choice(SHARES)}
        metadata = {"name": f"b{world.dice.randrange(3)}", "namespace": NAMESPACE}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
        await world.client.create(budget)

    async def unprotect(self, world: World) -> None:
        await world.delete_any(PodDisruptionBudget)

    async def evict(self, world: World) -> None:
        pod = await world.any(Pod)
        if pod is not None:
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name_of(pod)}}
            eviction = world.client.create_subresource(Pod, name_of(pod), "eviction", body, namespace=NAMESPACE)
            evicting = asyncio.create_task(eviction)
            await world.advance(15)  # a refusal may say when to ask again, and the client does
            evicting.cancel()
            with suppress(asyncio.CancelledError):
                await evicting

    async def wrong(self, world: World) -> str:
        scales = {
            name_of(controller): controller.spec.replicas or 0 for controller in await world.all(ReplicationController)
        }
        pods = [pod for pod in await world.all(Pod) if is_active(pod)]
        for budget in await world.client.list(tree("policy/v1", "PodDisruptionBudget"), namespace=NAMESPACE):
            match_labels = budget["spec"]["selector"]["matchLabels"]
            selected = [pod for pod in pods if match_labels.items() <= labels_of(pod).items()]
            owners = {owner.name for pod in selected if (owner := controller_of(pod))}
            counts_scale = "maxUnavailable" in budget["spec"] or isinstance(budget["spec"]["minAvailable"], str)
            expected = sum(scales.get(name, 0) for name in owners) if counts_scale else len(selected)
            reported = budget.get("status") or {}
            counts = (reported.get("expectedPods"), reported.get("currentHealthy"), reported.get("observedGeneration"))
            if counts != (expected, sum(map(is_ready, selected)), budget["metadata"]["generation"]):
                return f"{name_of(budget)} tells {reported}, expected are {expected} of {len(selected)}"
        return ""
