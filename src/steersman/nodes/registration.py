"""Nodes are registered, beat, and are heard of: one heartbeat each, and a status now and then."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.asynckit.tasks import Supervisor
from steersman.client.changes import Deleted
from steersman.client.errors import AlreadyExists, NotFound
from steersman.client.objects import name_of, uid_of
from steersman.client.requests import PatchType
from steersman.nodes.node_object import (
    KubeletAddress,
    NodeTemplate,
    beaten_conditions,
    internal_ip,
    is_kept,
    is_stopped,
    new_node,
    new_status,
)
from steersman.nodes.pod_addresses import NODE_RANGE, AddressPool
from steersman.nodes.pods import NODES
from steersman.runtime.controller import Controller
from steersman.runtime.heartbeat import LeaseHeartbeat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.client.changes import Change
    from steersman.runtime.context import ControllerContext
    from steersman.runtime.result import Result

    Tree = dict[str, Any]

LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_DURATION_SECONDS: Final = 40
RENEW_INTERVAL_SECONDS: Final = 10.0
#: How often the conditions are said to be heard of (``nodeStatusReportFrequency``).
STATUS_SECONDS: Final = 300.0
_WORKERS: Final = 32


class NodeKeeper(Controller):
    """Keeps the nodes of ``wanted``, and any that somebody else has made with the annotation of a fake node."""

    name: ClassVar[str] = "simulated-nodes"

    def __init__(
        self,
        context: ControllerContext,
        wanted: Mapping[str, NodeTemplate],
        *,
        tells_status: bool = True,
        kubelet: KubeletAddress | None = None,
    ) -> None:
        """Without ``tells_status`` somebody else says how nodes are: they are registered without conditions, and beat.

        ``kubelet`` is where API servers reach that of these nodes; None: they have none.
        """
        super().__init__(context, workers=_WORKERS)
        self._kubelet = kubelet
        self._wanted = dict(wanted)
        self._tells_status = tells_status
        self._ips = AddressPool(NODE_RANGE)
        self._beats = Supervisor("node heartbeats")
        self._beating: dict[str, asyncio.Task[Any]] = {}
        self._first_ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reports = self.add_queue(f"{self.name}-status", self._report, workers=_WORKERS)
        self._nodes = self.watch(NODES, when=self._concerns_us)
        if tells_status:
            self.every(STATUS_SECONDS, self._report_all, jitter=0.1, name="node status")

    def _concerns_us(self, change: Change[Tree]) -> bool:
        if isinstance(change, Deleted):
            self._stop_beating(name_of(change.latest))
            self._ips.release(name_of(change.latest), internal_ip(change.latest))
        else:
            self._ips.assigned(name_of(change.latest), internal_ip(change.latest))
        return is_kept(change.latest) or name_of(change.latest) in self._wanted

    async def start(self) -> None:
        """Register what is not there."""
        for name in self._wanted:
            self.queue.add(name)

    async def run(self) -> None:
        """Until ``stop``; heartbeats end with it."""
        try:
            await super().run()
        finally:
            await self._beats.close()

    async def reconcile(self, key: str) -> Result | None:
        """Register a node of ours that is not there, bring up one that has no status yet, and have it beat."""
        node = self._nodes.lister.get(key)
        if node is None:
            await self._register(key)
            return None
        if is_stopped(node):
            self._stop_beating(key)
            return None
        status = node.get("status") or {}
        known = {each.get("type"): each.get("status") for each in status.get("conditions") or ()}
        is_down = not status.get("allocatable") or known.get("Ready") in (None, "Unknown")
        if is_down and self._tells_status:
            await self._bring_up(node)
        elif self._kubelet is not None and not self._kubelet.is_said(node):
            await self._patch(key, {"addresses": status.get("addresses") or []}, kubelet=self._kubelet)
        if key not in self._beating:
            self._beating[key] = self._beats.start(f"node {key}", self._heartbeat(node).run())
        if known.get("Ready") == "True" and not self._first_ready.done():
            self._first_ready.set_result(key)
        return None

    async def wait_node_ready(self) -> str:
        """Wait until a node is Ready and has a heartbeat from here; return its name.

        The condition alone may be left from an earlier run.
        """
        return await asyncio.shield(self._first_ready)

    async def _register(self, name: str) -> None:
        template = self._wanted.get(name)
        if template is None:
            return
        node = new_node(template, name, ip=self._ips.reserve(name), now=self.clock.now())
        if self._kubelet is not None:
            self._kubelet.tell(node)
        if not self._tells_status:
            del node["status"]["conditions"], node["status"]["phase"]
        try:
            self.own_writes.note(name, self._nodes, await self.client.create(node))
        except AlreadyExists:
            return

    async def _bring_up(self, node: Tree) -> None:
        name = name_of(node)
        template = self._wanted.get(name) or NodeTemplate()
        ip = internal_ip(node) or self._ips.reserve(name)
        status = new_status(template, name, ip=ip, now=self.clock.now(), known=node.get("status"))
        await self._patch(name, status, kubelet=self._kubelet)

    async def _report_all(self) -> None:
        for node in self._nodes.lister.list():
            self._reports.add(name_of(node))

    async def _report(self, name: str) -> None:
        """Report the conditions of a node that is simulated and alive; the queue repeats a report that fails."""
        node = self._nodes.lister.get(name)
        if node is not None and is_kept(node) and not is_stopped(node) and name in self._beating:
            known = (node.get("status") or {}).get("conditions") or ()
            await self._patch(name, {"conditions": beaten_conditions(known, now=self.clock.now())})

    async def _patch(self, name: str, status: Tree, *, kubelet: KubeletAddress | None = None) -> None:
        patch = {"status": status}
        if kubelet is not None:
            kubelet.tell(patch)
        try:
            written = await self.client.patch(NODES, name, patch, patch_type=PatchType.STRATEGIC, subresource="status")
        except NotFound:
            return
        self.own_writes.note(name, self._nodes, written)

    def _heartbeat(self, node: Tree) -> LeaseHeartbeat:
        owner = {"apiVersion": "v1", "kind": "Node", "name": name_of(node), "uid": uid_of(node)}

        async def own(lease: Tree) -> None:
            lease["metadata"]["ownerReferences"] = [owner]

        return LeaseHeartbeat(
            self.client,
            holder_identity=name_of(node),
            lease_duration_seconds=LEASE_DURATION_SECONDS,
            renew_interval_seconds=RENEW_INTERVAL_SECONDS,
            namespace=LEASE_NAMESPACE,
            post_process=own,
            clock=self.clock,
            dice=self.dice,
        )

    def _stop_beating(self, name: str) -> None:
        task = self._beating.pop(name, None)
        if task is not None:
            task.cancel()
