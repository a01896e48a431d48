"""Scenario of Nodes: finally taints match their conditions, and no pod stays where it may not."""

from __future__ import annotations

from collections import Counter
from typing import Any

from lightkube.models.core_v1 import Node, Pod
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.apimachinery.timestamps import format_time
from steersman.client import PatchType
from steersman.client.objects import labels_of, name_of
from steersman.runtime.conditions import find_condition

NAMES = ("a", "b", "c", "d")
ZONES = ("x", "y")
#: Number of the four Nodes that is the majority of a zone.
PARTLY_DOWN = 3
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
_KEY = "node.kubernetes.io/"
_PRESSURE_KEYS = {type_: f"{_KEY}{type_.removesuffix('Pressure').lower()}-pressure" for type_ in PRESSURES}
_USER = "example.com/evict"


class Nodelifecycle(Scenario):
    """Kubelets report and fall silent, users cordon and taint, pods are bound to Nodes directly."""

    controllers = ("nodelifecycle", "taint-eviction-controller")

    def __init__(self) -> None:
        #: Reported conditions of each Node's kubelet.
        self._truth: dict[str, dict[str, str]] = {}
        self._silent: set[str] = set()

    def edits(self) -> Edits:
        return [self.make, self.make, self.make, self.remove, self.cordon, self.turn, self.turn,
                self.fall_silent, self.wake, self.taint, self.break_taints, self.make_pod]  # fmt: skip

    async def live(self, world: World) -> None:
        """Act as the kubelets that are not silent."""
        for node in await world.client.list(Node):
            name = name_of(node)
            if name in self._silent:
                continue
            now = format_time(world.clock.now())
            rows = [{"type": type_, "status": status, "lastHeartbeatTime": now, "reason": "K", "message": "m"}
                    for type_, status in self._truth[name].items()]  # fmt: skip
            await world.client.patch(
                Node, name, {"status": {"conditions": rows}}, patch_type=PatchType.STRATEGIC, subresource="status"
            )

    async def make(self, world: World) -> None:
        name = world.dice.choice(NAMES)
        labels = {"topology.kubernetes.io/zone": world.dice.choice(ZONES)}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        await world.client.create(body)
        self._truth[name] = {"Ready": "True", **dict.fromkeys(PRESSURES, "False")}
        self._silent.discard(name)

    async def remove(self, world: World) -> None:
        await world.client.delete(Node, world.dice.choice(NAMES))

    async def cordon(self, world: World) -> None:
        patch = {"spec": {"unschedulable": world.dice.choice([True, None])}}
        await world.client.patch(Node, world.dice.choice(NAMES), patch)

    async def turn(self, world: World) -> None:
        """Change the state of a kubelet."""
        name = world.dice.choice(NAMES)
        if name in self._truth:
            self._truth[name][world.dice.choice(["Ready", *PRESSURES])] = world.dice.choice(["True", "False"])

    async def fall_silent(self, world: World) -> None:
        self._silent.add(world.dice.choice(NAMES))

    async def wake(self, world: World) -> None:
        self._silent.discard(world.dice.choice(NAMES))

    async def taint(self, world: World) -> None:
        await self._set_taints(world, [{"key": _USER, "effect": "NoExecute"}])

    async def break_taints(self, world: World) -> None:
        await self._set_taints(world, [])

    async def _set_taints(self, world: World, taints: list[dict[str, str]]) -> None:
        """Replace all taints, the controller's included."""
        await world.client.patch(Node, world.dice.choice(NAMES), {"spec": {"taints": taints}})

    async def make_pod(self, world: World) -> None:
        tolerations = world.dice.choice([[], [{"key": _USER, "operator": "Exists"}],
                                         [{"key": _USER, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}]])  # fmt: skip
        spec = {"nodeName": world.dice.choice(NAMES), "tolerations": tolerations,
                "containers": [{"name": "c", "image": "image"}]}  # fmt: skip
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p"}, "spec": spec}
        await world.client.create(body, namespace=NAMESPACE)

    async def wrong(self, world: World) -> str:
        nodes = await world.client.list(Node)
        ready = {name_of(node): self._status(node) for node in nodes}
        unready = Counter(self._zone(node) for node in nodes if self._status(node) != "True")
        for node in nodes:
            if unready[self._zone(node)] >= PARTLY_DOWN:
                continue  # evictions that have begun are stopped now
            fault = self._wrong_with(node, evicts=any(status == "True" for status in ready.values()))
            if fault:
                return f"{name_of(node)}: {fault}"
        tainted = {name_of(node) for node in nodes for taint in node.spec.taints or () if taint.key == _USER}
        for pod in await world.all(Pod):
            stays = any(
                toleration.key == _USER and toleration.tolerationSeconds is None for toleration in pod.spec.tolerations
            )
            if pod.spec.nodeName in tainted and not stays and pod.metadata.deletionTimestamp is None:
                return f"{name_of(pod)} is still on {pod.spec.nodeName}"
        return ""

    def _zone(self, node: Node) -> str:
        return labels_of(node)["topology.kubernetes.io/zone"]

    def _status(self, node: Node) -> str:
        condition = find_condition(node.status.conditions, "Ready")
        return condition.status if condition is not None else ""

    def _wrong_with(self, node: Node, *, evicts: bool) -> str:
        name, status = name_of(node), self._status(node)
        wanted_status = "Unknown" if name in self._silent else self._truth[name]["Ready"]
        if status != wanted_status:
            return f"Ready is {status!r}, not {wanted_status!r}"
        expected = set(self._expected_taints(node, status, evicts=evicts))
        reported: set[Any] = {(taint.key, taint.effect) for taint in node.spec.taints or () if taint.key != _USER}
        return "" if reported == expected else f"taints are {reported}, not {expected}"

    def _expected_taints(self, node: Node, status: str, *, evicts: bool) -> list[tuple[str, str]]:
        expected = [(f"{_KEY}unschedulable", "NoSchedule")] if node.spec.unschedulable else []
        if name_of(node) not in self._silent:
            truth = self._truth[name_of(node)]
            expected += [(key, "NoSchedule") for type_, key in _PRESSURE_KEYS.items() if truth[type_] == "True"]
        if status != "True":
            key = f"{_KEY}{'not-ready' if status == 'False' else 'unreachable'}"
            expected += [(key, "NoSchedule")] + ([(key, "NoExecute")] if evicts else [])
        return expected
