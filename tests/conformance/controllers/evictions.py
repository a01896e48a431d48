"""Scenario of pods to delete: from tainted, missing and out-of-service Nodes."""

from __future__ import annotations

from typing import Any

from lightkube.models.core_v1 import Node, Pod
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import metadata_field, name_of, uid_of
from steersman.runtime.conditions import is_condition_true
from steersman.workloads.pods import is_finished, node_of

NODES = ("a", "b", "c")
PODS = 8
#: Threshold of terminated pods.
TERMINATED_MAX = 3
HOLD = "example.com/hold"
_USER = "example.com/evict"
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_TOLERATIONS: tuple[list[dict[str, Any]], ...] = (
    [],
    [{"key": _USER, "operator": "Exists"}],
    [{"key": _USER, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 15}],
    [{"operator": "Exists"}],
)


class Evictions(Scenario):
    """Pods are recreated under few names, so that one may replace another unobserved."""

    controllers = ("taint-eviction-controller", "podgc")
    options = {"terminated_pod_gc_threshold": TERMINATED_MAX}

    def __init__(self) -> None:
        #: Pods by UID that were never deleted by users and could always stay.
        self._must_stay: dict[str, str] = {}

    def edits(self) -> Edits:
        return [self.make_node, self.make_node, self.remove_node, self.turn, self.taint, self.taint,
                self.untaint, self.make_pod, self.make_pod, self.make_pod, self.terminate_pod,
                self.replace_pod, self.replace_pod, self.end_pod, self.assign]  # fmt: skip

    async def edit(self, world: World) -> None:
        await super().edit(world)
        await self._excuse(world)

    async def live(self, world: World) -> None:
        """Act as kubelets of ready Nodes, which end deleted pods; finalizers of ended pods are removed."""
        nodes = await self._nodes(world)
        for pod in await world.all(Pod):
            if metadata_field(pod, "deletionTimestamp") is None:
                continue
            if is_finished(pod) and metadata_field(pod, "finalizers"):
                patch = {"metadata": {"uid": uid_of(pod), "finalizers": None}}
                await world.client.patch(Pod, name_of(pod), patch, namespace=NAMESPACE)
            elif _is_ready(nodes.get(node_of(pod))) and world.dice.random() < 0.5:
                if not is_finished(pod):
                    await world.set_ready(pod, ready=False, phase="Failed")
                await world.client.delete_object(pod, grace_period_seconds=0)

    # Nodes

    async def _nodes(self, world: World) -> dict[str, Node]:
        return {name_of(node): node for node in await world.client.list(Node)}

    async def make_node(self, world: World) -> None:
        name = world.dice.choice(NODES)
        await world.client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        await self._say(world, name, "True")

    async def remove_node(self, world: World) -> None:
        await world.client.delete(Node, world.dice.choice(NODES))

    async def turn(self, world: World) -> None:
        await self._say(world, world.dice.choice(NODES), world.dice.choice(["True", "False"]))

    async def _say(self, world: World, name: str, ready: str) -> None:
        patch = {"status": {"conditions": [{"type": "Ready", "status": ready}]}}
        await world.client.patch(Node, name, patch, subresource="status")

    async def taint(self, world: World) -> None:
        key = world.dice.choice([_USER, _USER, _OUT_OF_SERVICE])
        await self._set_taints(world, [{"key": key, "effect": "NoExecute"}])

    async def untaint(self, world: World) -> None:
        await self._set_taints(world, [])

    async def _set_taints(self, world: World, taints: list[dict[str, str]]) -> None:
        await world.client.patch(Node, world.dice.choice(NODES), {"spec": {"taints": taints}})

    # Pods

    async def make_pod(self, world: World) -> None:
        await self.create_pod(world, f"p{world.dice.randrange(PODS)}")

    async def create_pod(self, world: World, name: str) -> None:
        dice = world.dice
        metadata: dict[str, Any] = {"name": name, "finalizers": [HOLD] if dice.random() < 0.2 else []}
        spec: dict[str, Any] = {"tolerations": dice.choice(_TOLERATIONS), "containers": [{"name": "c", "image": "i"}]}
        spec |= {"nodeName": dice.choice(NODES)} if dice.random() < 0.8 else {}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        self._must_stay[uid_of(await world.client.create(body, namespace=NAMESPACE))] = name

    async def remove_pod(self, world: World, pod: Pod, *, grace_period_seconds: int) -> None:
        self._must_stay.pop(uid_of(pod), None)
        await super().remove_pod(world, pod, grace_period_seconds=grace_period_seconds)

    async def assign(self, world: World) -> None:
        """Assign a pod to a Node, as the scheduler does."""
        pod = await world.any(Pod, lambda pod: not node_of(pod))
        if pod is not None:
            await world.bind(pod, world.dice.choice(NODES))

    # What must be so

    async def _excuse(self, world: World) -> None:
        """Record pods that may not stay now: their deletion is correct, even if the reason passes."""
        nodes, pods = await self._nodes(world), await world.all(Pod)
        ended = [pod for pod in pods if is_finished(pod)]
        for pod in pods:
            is_surplus = is_finished(pod) and len(ended) > TERMINATED_MAX
            if is_surplus or (node_of(pod) and (node_of(pod) not in nodes or _evicts(nodes[node_of(pod)], pod))):
                self._must_stay.pop(uid_of(pod), None)

    async def wrong(self, world: World) -> str:
        nodes, pods = await self._nodes(world), await world.all(Pod)
        existing_uids = {uid_of(pod) for pod in pods}
        lost = sorted(name for uid, name in self._must_stay.items() if uid not in existing_uids)
        if lost:
            return f"{lost} are gone, and nothing was against them"
        if sum(is_finished(pod) for pod in pods) > TERMINATED_MAX:
            return f"more than {TERMINATED_MAX} pods are kept that have ended"
        for pod in pods:
            fault = self._wrong_with(pod, nodes.get(node_of(pod)))
            if fault:
                return f"{name_of(pod)} of {node_of(pod) or 'no Node'} {fault}"
        return ""

    def _wrong_with(self, pod: Pod, node: Node | None) -> str:
        is_terminating = metadata_field(pod, "deletionTimestamp") is not None
        if node_of(pod) and node is None:
            return "is still there, and its Node is not"
        if node is not None and _evicts(node, pod) and not is_terminating:
            return "was not sent away"
        waits_for_kubelet = node is not None and not _is_ready(node) and not _has_taint(node, _OUT_OF_SERVICE)
        return "is still terminating" if is_terminating and not waits_for_kubelet else ""


def _is_ready(node: Node | None) -> bool:
    return node is not None and is_condition_true(node.status.conditions if node.status else None, "Ready")


def _has_taint(node: Node, key: str) -> bool:
    return any(taint.key == key for taint in (node.spec.taints if node.spec else None) or ())


def _evicts(node: Node, pod: Pod) -> bool:
    """Report whether the pod is evicted from the node at some time."""
    tolerated = {toleration.key for toleration in pod.spec.tolerations or () if toleration.tolerationSeconds is None}
    keys = {taint.key for taint in (node.spec.taints if node.spec else None) or () if taint.effect == "NoExecute"}
    return None not in tolerated and not keys <= tolerated
