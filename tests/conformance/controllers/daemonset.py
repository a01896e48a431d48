"""Scenario of DaemonSets: each eligible node has one Pod of the last template, and no other node has any."""

from __future__ import annotations

from typing import Any

from lightkube.models import apps_v1
from lightkube.models.core_v1 import Node, Pod
from tests.conformance.controllers.replication import pods_of, template
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import labels_of, name_of
from steersman.controllers.daemonset import rules
from steersman.workloads.pods import is_active
from steersman.workloads.revisions import template_data

NAMES = ("a", "b")
NODES = ("n1", "n2", "n3", "n4", "n5")
HISTORY = 1
STRATEGIES: tuple[dict[str, Any], ...] = (
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "40%"}},
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
)
TAINTS: tuple[list[dict[str, str]] | None, ...] = (
    None,
    [{"key": "gpu", "effect": "NoSchedule"}],
    [{"key": "gpu", "effect": "NoExecute"}],
    [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
)


class Daemonset(Scenario):
    """Nodes come, go, and are labelled and tainted; users change templates and damage Pods and revisions."""

    controllers = ("daemonset", "garbagecollector")

    def edits(self) -> Edits:
        return [self.make, self.make, self.change_template, self.change_template, self.change_strategy,
                self.add_node, self.add_node, self.add_node, self.change_node, self.remove_node,
                self.remove, self.delete_pod, self.fail_pod, self.relabel_pod, self.lose_revision]  # fmt: skip

    async def live(self, world: World) -> None:
        await world.make_pods_ready()

    async def make(self, world: World) -> None:
        name = world.dice.choice(NAMES)
        pod = template(name, v="1")
        pod["spec"]["nodeSelector"] = {"for": name}
        spec = {"selector": {"matchLabels": {"app": name}}, "template": pod, "revisionHistoryLimit": HISTORY,
                "updateStrategy": world.dice.choice(STRATEGIES), "minReadySeconds": world.dice.choice([0, 0, 3])}  # fmt: skip
        tree = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}, "spec": spec}
        await world.client.create(tree, namespace=NAMESPACE)

    async def _patch(self, world: World, spec: dict[str, Any]) -> None:
        ds = await world.any(apps_v1.DaemonSet)
        if ds is not None:
            await world.client.patch(apps_v1.DaemonSet, name_of(ds), {"spec": spec}, namespace=NAMESPACE)

    async def change_template(self, world: World) -> None:
        await self._patch(world, {"template": {"metadata": {"labels": {"v": world.dice.choice("1234")}}}})

    async def change_strategy(self, world: World) -> None:
        await self._patch(world, {"updateStrategy": world.dice.choice(STRATEGIES)})

    async def remove(self, world: World) -> None:
        ds = await world.any(apps_v1.DaemonSet)
        if ds is not None:
            policy = world.dice.choice(["Background", "Foreground", "Orphan"])
            await world.client.delete_object(ds, propagation_policy=policy)

    async def add_node(self, world: World) -> None:
        name = world.dice.choice(NODES)
        metadata = {"name": name, "labels": {"for": world.dice.choice(NAMES)}}
        await world.client.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        await world.client.patch(Node, name, {"spec": {"taints": None}})

    async def _node(self, world: World) -> Node | None:
        nodes = await world.client.list(Node)
        return world.dice.choice(nodes) if nodes else None

    async def change_node(self, world: World) -> None:
        node = await self._node(world)
        if node is not None:
            patch = {"metadata": {"labels": {"for": world.dice.choice([*NAMES, "none"])}},
                     "spec": {"taints": world.dice.choice(TAINTS)}}  # fmt: skip
            await world.client.patch(Node, name_of(node), patch)

    async def remove_node(self, world: World) -> None:
        node = await self._node(world)
        if node is not None:
            await world.client.delete(Node, name_of(node))

    async def fail_pod(self, world: World) -> None:
        pod = await world.any(Pod, is_active)
        if pod is not None:
            await world.set_ready(pod, ready=False, phase=world.dice.choice(["Failed", "Succeeded"]))

    async def relabel_pod(self, world: World) -> None:
        pod = await world.any(Pod)
        if pod is not None:
            patch = {"metadata": {"labels": {"app": world.dice.choice([*NAMES, "x"])}}}
            await world.client.patch(Pod, name_of(pod), patch, namespace=NAMESPACE)

    async def lose_revision(self, world: World) -> None:
        await world.delete_any(apps_v1.ControllerRevision)

    async def wrong(self, world: World) -> str:
        pods = [pod for pod in await world.all(Pod) if is_active(pod)]
        nodes, revisions = await world.client.list(Node), await world.all(apps_v1.ControllerRevision)
        for ds in await world.all(apps_v1.DaemonSet):
            mine = [revision for revision in revisions if pods_of([revision], ds)]
            fault = self._wrong_with(ds, nodes, pods_of(pods, ds), mine)
            orphans = [name_of(pod) for pod in pods if not pod.metadata.ownerReferences
                       and labels_of(pod).get("app") == name_of(ds)]  # fmt: skip
            if fault or orphans:
                return f"{name_of(ds)}: {fault} {orphans}"
        return ""

    def _wrong_with(
        self, ds: apps_v1.DaemonSet, nodes: list[Node], pods: list[Pod], revisions: list[apps_v1.ControllerRevision]
    ) -> str:
        if ds.metadata.deletionTimestamp is not None:
            return "it is still there"
        present = [revision for revision in revisions if revision.data == template_data(ds.spec.template)]
        if len(present) != 1 or len(revisions) > HISTORY + 1:
            return f"revisions {[(name_of(present_revision), present_revision.revision) for present_revision in revisions]}"
        current_hash = labels_of(present[0])[rules.REVISION_HASH]
        verdicts = {name_of(node): rules.node_should_run_daemon_pod(ds, node) for node in nodes}
        of_nodes = [rules.target_node(pod) for pod in pods]
        expected = [name for name, eligibility in verdicts.items() if eligibility.should_run]
        allowed = [name for name, eligibility in verdicts.items() if eligibility.may_stay]
        if len(of_nodes) != len(set(of_nodes)) or not set(expected) <= set(of_nodes) <= set(allowed):
            return f"pods for {sorted(of_nodes)} instead of {sorted(expected)}"
        old = [
            name_of(pod)
            for pod in pods
            if rules.target_node(pod) in expected and not rules.is_updated(pod, current_hash)
        ]
        if old:
            return f"old pods {old}"
        status, count = ds.status, len(expected)
        reported = [status.desiredNumberScheduled, status.currentNumberScheduled, status.numberReady,
                status.updatedNumberScheduled or 0, status.numberAvailable or 0]  # fmt: skip
        if reported != [count] * 5 or status.observedGeneration != ds.metadata.generation:
            return f"its status says {status}"
        return ""
