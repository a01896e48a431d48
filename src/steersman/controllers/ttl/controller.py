"""TTL controller: watches Nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.core_v1 import Node

from steersman.client import PatchType
from steersman.client.changes import Deleted
from steersman.client.errors import NotFound
from steersman.client.objects import key_of
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.ttl.plan import annotation_patch, step_for

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext


class TTLController(ManagedController):
    """Reconciles Nodes by name."""

    name: ClassVar[str] = "ttl-controller"
    queue_name: ClassVar[str] = "ttlcontroller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=5)
        self._step = 0
        self._nodes = self.informer(Node)
        self._nodes.add_callback(self._changed)

    def _changed(self, change: Change[Node]) -> None:
        step = step_for(len(self._nodes.lister), self._step)
        if step != self._step:
            self._step = step
            for key in self._nodes.lister.keys():  # noqa: SIM118 — a lister is no mapping
                self.queue.add(key)
        elif not isinstance(change, Deleted):
            self.queue.add(key_of(change.new))

    async def reconcile(self, key: str) -> None:
        """Write the annotation."""
        node = self._nodes.lister.get(key)
        patch = annotation_patch(node, self._step) if node is not None else None
        if patch is None:
            return
        try:
            written = await self.client.patch(Node, key, patch, patch_type=PatchType.STRATEGIC)
        except NotFound:
            return
        self.own_writes.note(key, self._nodes, written)


def build(context: ControllerContext) -> TTLController:
    """Construct the controller."""
    return TTLController(context)
