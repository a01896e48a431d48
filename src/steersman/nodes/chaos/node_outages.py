"""Controller that stops and starts simulated nodes according to chaos rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.client.changes import Deleted
from steersman.client.errors import NotFound
from steersman.client.objects import name_of
from steersman.client.requests import PatchType
from steersman.nodes.bound_pods import NODES
from steersman.nodes.node_object import STOPPED, is_simulated, is_stopped
from steersman.runtime.controller import Controller
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.client.changes import Change
    from steersman.nodes.chaos.rules import Chaos
    from steersman.runtime.context import ControllerContext


#: Annotation with the rule that stopped a node; absent from nodes that a user stopped.
STOPPED_BY: Final = "nodes.steersman.dev/stopped-by"
_WORKERS: Final = 4


class NodeOutages(Controller):
    """Set and remove the annotation that stops a node. Without rules, start nodes that earlier rules stopped."""

    name: ClassVar[str] = "simulated-node-outages"

    def __init__(self, context: ControllerContext, chaos: Chaos) -> None:
        super().__init__(context, workers=_WORKERS)
        self._chaos = chaos
        self._recorder = context.events.recorder("chaos")
        self._nodes = self.watch(NODES, when=self._concerns_us)

    def _concerns_us(self, change: Change[Tree]) -> bool:
        node = change.latest
        if isinstance(change, Deleted) or not is_simulated(node):
            return False
        return self._chaos.concerns_nodes or STOPPED_BY in (node["metadata"].get("annotations") or {})

    async def reconcile(self, key: str) -> Result | None:
        """Stop or start a node, and requeue it for the next change."""
        node = self._nodes.lister.get(key)
        if node is None:
            return None
        now = self.clock.now()
        rule, change = self._chaos.outage(node, now)
        stopped_by = (node["metadata"].get("annotations") or {}).get(STOPPED_BY)
        if rule and not is_stopped(node):
            await self._annotate(node, {STOPPED: "true", STOPPED_BY: rule})
            self._recorder.event(node, "Warning", "NodeStopped", f"Stopped by the chaos rule {rule}")
        elif not rule and stopped_by:
            await self._annotate(node, {STOPPED: None, STOPPED_BY: None})
            self._recorder.event(node, "Normal", "NodeStarted", f"Started again by the chaos rule {stopped_by}")
        return None if change is None else Result(requeue_after_seconds=max(0.0, (change - now).total_seconds()))

    async def _annotate(self, node: Tree, annotations: dict[str, str | None]) -> None:
        patch = {"metadata": {"annotations": annotations}}
        try:
            written = await self.client.patch(NODES, name_of(node), patch, patch_type=PatchType.MERGE)
        except NotFound:
            return
        self.own_writes.note(name_of(node), self._nodes, written)
