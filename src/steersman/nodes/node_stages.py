"""Controller that runs the stages of Nodes, if stage files define any."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.client.changes import Deleted
from steersman.client.objects import name_of, uid_of
from steersman.nodes.bound_pods import NODES
from steersman.nodes.node_object import internal_ip, is_simulated, is_stopped, kubelet_port
from steersman.nodes.pod_addresses import NODE_RANGE, AddressPool
from steersman.nodes.stage_runner import StageRunner
from steersman.nodes.stages import StageContext
from steersman.runtime.controller import Controller
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.client.changes import Change
    from steersman.nodes.stages import Stage
    from steersman.runtime.context import ControllerContext


_WORKERS: Final = 16


class NodeStages(Controller):
    """Run the stages of simulated nodes. ``NodeController`` registers nodes and sends heartbeats."""

    name: ClassVar[str] = "simulated-node-stages"

    def __init__(self, context: ControllerContext, stages: Sequence[Stage]) -> None:
        super().__init__(context, workers=_WORKERS)
        self._ips = AddressPool(NODE_RANGE)
        self._started = self.clock.now()
        self._nodes = self.watch(NODES, when=self._concerns_us)
        self._runner = StageRunner(self, stages, NODES, self._nodes, context.events.recorder("kubelet"))

    def _concerns_us(self, change: Change[Tree]) -> bool:
        if isinstance(change, Deleted):
            self._runner.forget(uid_of(change.latest))
            self._ips.release(name_of(change.latest), internal_ip(change.latest))
            return False
        self._ips.assigned(name_of(change.latest), internal_ip(change.latest))
        return is_simulated(change.latest) and not is_stopped(change.latest)

    async def reconcile(self, key: str) -> Result | None:
        """Apply the transition of the node's stage when it is due."""
        node = self._nodes.lister.get(key)
        if node is None or is_stopped(node):
            return None
        pending = self._runner.stage_of(node)
        if pending is None:
            return None
        remaining = self._runner.remaining_seconds(pending)
        if remaining > 0:
            return Result(requeue_after_seconds=remaining)
        stage_context = StageContext(
            self.clock.now(),
            internal_ip(node) or self._ips.reserve(key),
            node_name=name_of(node),
            node_port=kubelet_port(node),
            started=self._started,
            dice=self.dice,
        )
        await self._runner.run(key, node, pending.stage.transition(node, stage_context))
        return None
