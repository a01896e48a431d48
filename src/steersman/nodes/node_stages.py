"""Nodes that go through stages of their own, where a user has written some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.client.changes import Deleted
from steersman.client.objects import name_of, uid_of
from steersman.nodes.node_object import internal_ip, is_kept, is_stopped, kubelet_port
from steersman.nodes.pod_addresses import NODE_RANGE, AddressPool
from steersman.nodes.pods import NODES
from steersman.nodes.stages import Surroundings
from steersman.nodes.turning import Turning
from steersman.runtime.controller import Controller
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.client.changes import Change
    from steersman.nodes.stages import Stage
    from steersman.runtime.context import ControllerContext

    Tree = dict[str, Any]

_WORKERS: Final = 16


class NodeStages(Controller):
    """Brings each simulated node from stage to stage. Registration and heartbeats are not its business."""

    name: ClassVar[str] = "simulated-node-stages"

    def __init__(self, context: ControllerContext, stages: Sequence[Stage]) -> None:
        super().__init__(context, workers=_WORKERS)
        self._ips = AddressPool(NODE_RANGE)
        self._started = self.clock.now()
        self._nodes = self.watch(NODES, when=self._concerns_us)
        self._turning = Turning(self, stages, NODES, self._nodes, context.events.recorder("kubelet"))

    def _concerns_us(self, change: Change[Tree]) -> bool:
        if isinstance(change, Deleted):
            self._turning.forget(uid_of(change.latest))
            self._ips.release(name_of(change.latest), internal_ip(change.latest))
            return False
        self._ips.assigned(name_of(change.latest), internal_ip(change.latest))
        return is_kept(change.latest) and not is_stopped(change.latest)

    async def reconcile(self, key: str) -> Result | None:
        """Bring the node to its next stage when it is time."""
        node = self._nodes.lister.get(key)
        if node is None or is_stopped(node):
            return None
        pending = self._turning.stage_of(node)
        if pending is None:
            return None
        left = self._turning.left_seconds(pending)
        if left > 0:
            return Result(requeue_after_seconds=left)
        around = Surroundings(
            self.clock.now(),
            internal_ip(node) or self._ips.reserve(key),
            node_name=name_of(node),
            node_port=kubelet_port(node),
            started=self._started,
            dice=self.dice,
        )
        await self._turning.turn(key, node, pending.stage.turns_into(node, around))
        return None
