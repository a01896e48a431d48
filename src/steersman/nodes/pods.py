"""The kubelets' work, for all simulated nodes at once: each pod is brought through its stages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lightkube.models.core_v1 import ConfigMap, Secret

from steersman.client import tree
from steersman.client.changes import Added, Deleted
from steersman.client.objects import key_of, name_of, namespace_of, split_key, uid_of
from steersman.client.partial_metadata import metadata_only
from steersman.nodes import pod_status
from steersman.nodes.node_object import internal_ip, is_kept, is_stopped, kubelet_port
from steersman.nodes.pod_addresses import PodAddresses
from steersman.nodes.references import missing_reference
from steersman.nodes.stages import Outcome, Surroundings
from steersman.nodes.turning import Turning
from steersman.runtime.controller import Controller
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.client.changes import Change
    from steersman.client.store import Lister
    from steersman.nodes.chaos.rules import Chaos
    from steersman.nodes.stages import Stage
    from steersman.runtime.context import ControllerContext

    Tree = dict[str, Any]

PODS: Final = tree("v1", "Pod")
NODES: Final = tree("v1", "Node")

#: Index of pods by the name of their node.
BY_NODE: Final = "node"
#: Pods whose requests are under way at once.
WORKERS: Final = 32
#: A pod that waits for a Secret or ConfigMap looks again after so long, should an event have been missed.
_LOOK_AGAIN_SECONDS: Final = 60.0
#: A pod that was due, but did not change, is looked at again after so long.
_UNCHANGED_SECONDS: Final = 0.1
_CONFIG_ERROR: Final = "CreateContainerConfigError"


def nodes_of(pod: Tree) -> list[str]:
    """For the index ``BY_NODE``."""
    return [pod_status.spec_of(pod).get("nodeName") or ""]


def address_of(pod: Tree, node: Tree, addresses: PodAddresses) -> str:
    """The one that it has, or gets."""
    cidr = (node.get("spec") or {}).get("podCIDR") or ""
    return addresses.of(uid_of(pod), cidr, known=pod_status.status_of(pod).get("podIP") or "")


def remember_addresses(addresses: PodAddresses, pods: Lister[Tree], nodes: Lister[Tree]) -> None:
    """Those that pods on simulated nodes have already are not given to others, whoever cares for these pods."""
    for pod in pods:
        node = nodes.get(pod_status.spec_of(pod).get("nodeName") or "")
        is_ours = node is not None and is_kept(node) and not pod_status.spec_of(pod).get("hostNetwork")
        if node is not None and is_ours and pod_status.status_of(pod).get("podIP"):
            address_of(pod, node, addresses)


class PodKeeper(Controller):
    """Watches pods that are bound to simulated nodes."""

    name: ClassVar[str] = "simulated-pods"

    def __init__(
        self,
        context: ControllerContext,
        stages: Sequence[Stage],
        *,
        workers: int = WORKERS,
        is_others: Callable[[Tree, Tree], bool] | None = None,
        addresses: PodAddresses | None = None,
        chaos: Chaos | None = None,
    ) -> None:
        """``is_others``: True if another controller manages a pod on its node, sharing ``addresses`` with this one.

        ``chaos``: rules that make pods fail; None: none do.
        """
        super().__init__(context, workers=workers)
        self._is_others = is_others
        self._chaos = chaos if chaos is not None and chaos.concerns_pods else None
        self._recorder = context.events.recorder("kubelet")
        self._addresses = addresses or PodAddresses()
        self._started = self.clock.now()
        #: Pods that wait for an object, by its kind and key.
        self._waiting: dict[tuple[str, str], set[str]] = {}
        self._nodes = self.informer(NODES)
        self._nodes.add_callback(self._node_changed)
        self._pods = self.watch(PODS, when=self._concerns_us)
        self._turning = Turning(self, stages, PODS, self._pods, self._recorder)
        self._pods.add_index(BY_NODE, nodes_of)
        self._config_maps = self.informer(metadata_only(ConfigMap))
        self._secrets = self.informer(metadata_only(Secret))
        for kind, informer in (("ConfigMap", self._config_maps), ("Secret", self._secrets)):
            informer.add_callback(partial(self._appeared, kind))

    # What has happened

    def _concerns_us(self, change: Change[Tree]) -> bool:
        pod = change.latest
        if isinstance(change, Deleted):
            self._turning.forget(uid_of(pod))
            self._addresses.forget(uid_of(pod))
            return False
        return self._node_of(pod) is not None

    def _node_of(self, pod: Tree) -> Tree | None:
        """The node of a pod, if it is simulated and alive."""
        name = pod_status.spec_of(pod).get("nodeName")
        node = self._nodes.lister.get(name) if name else None
        if node is None or not is_kept(node) or is_stopped(node):
            return None
        return None if self._is_others is not None and self._is_others(pod, node) else node

    def _node_changed(self, change: Change[Tree]) -> None:
        """A node that has come, or come back, takes care of its pods."""
        old = getattr(change, "old", None)
        if isinstance(change, Deleted) or (old is not None and is_stopped(old) == is_stopped(change.new)):
            return
        if self.is_ready:
            for pod in self._pods.lister.by_index(BY_NODE, name_of(change.new)):
                self.enqueue(pod)

    def _appeared(self, kind: str, change: Change[Any]) -> None:
        if isinstance(change, Added):
            for key in self._waiting.pop((kind, key_of(change.new)), ()):
                self.queue.add(key)

    # What to do

    async def start(self) -> None:
        """Addresses that pods have are theirs before any is given; and a pod may have come before its node was known."""
        remember_addresses(self._addresses, self._pods.lister, self._nodes.lister)
        for pod in self._pods.lister:
            if self._node_of(pod) is not None:
                self.enqueue(pod)

    async def reconcile(self, key: str) -> Result | None:
        """Bring the pod to its next stage when it is time."""
        namespace, name = split_key(key)
        pod = self._pods.lister.get(name, namespace=namespace)
        node = self._node_of(pod) if pod is not None else None
        if pod is None or node is None:
            return None
        if self._chaos is not None:
            pod = self._chaos.with_annotations(pod, node)
        pending = self._turning.stage_of(pod)
        if pending is None:
            return None
        left = self._turning.left_seconds(pending)
        if left > 0:
            return Result(requeue_after_seconds=left)
        if not pod_status.is_terminating(pod) and not pod_status.is_running(pod):
            missing = missing_reference(pod, self._is_there)
            if missing is not None:
                return await self._wait_for(pod, node, missing)
        outcome = pending.stage.turns_into(pod, self._surroundings(pod, node))
        await self._turning.turn(key, pod, outcome)
        # Without a change no event brings the pod back: the wall clock was behind.
        return Result(requeue_after_seconds=_UNCHANGED_SECONDS) if outcome == Outcome() else None

    def _surroundings(self, pod: Tree, node: Tree) -> Surroundings:
        # A pod on its host's network has none of its own.
        ip = "" if pod_status.spec_of(pod).get("hostNetwork") else address_of(pod, node, self._addresses)
        return Surroundings(
            self.clock.now(), internal_ip(node), ip, name_of(node), kubelet_port(node), self._started, self.dice
        )

    def _is_there(self, kind: str, namespace: str, name: str) -> bool:
        informer = self._secrets if kind == "Secret" else self._config_maps
        return informer.lister.get(name, namespace=namespace) is not None

    async def _wait_for(self, pod: Tree, node: Tree, missing: tuple[str, str]) -> Result:
        kind, name = missing
        key = key_of(pod)
        self._waiting.setdefault((kind, f"{namespace_of(pod)}/{name}"), set()).add(key)
        message = f'{kind.lower()} "{name}" not found'
        around = self._surroundings(pod, node)
        status = pod_status.waiting(pod, around, reason=_CONFIG_ERROR, message=message)
        shown = [each.get("state") for each in pod_status.status_of(pod).get("containerStatuses") or ()]
        if shown != [each["state"] for each in status["containerStatuses"]]:
            await self._turning.write(key, pod, {"status": status}, "status")
            self._recorder.event(pod, "Warning", "Failed", f"Error: {message}")
        return Result(requeue_after_seconds=_LOOK_AGAIN_SECONDS)
