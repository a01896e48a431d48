"""The kubelet's work for process pods: each gets a life, which is told of in its status, and ends when it is to go."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.asynckit.tasks import Supervisor
from steersman.client.changes import Deleted
from steersman.client.connecting import find_access
from steersman.client.errors import ClientError, NotFound
from steersman.client.objects import key_of, name_of, namespace_of, split_key, uid_of
from steersman.client.requests import PatchType
from steersman.nodes.node_object import internal_ip, is_kept, is_stopped
from steersman.nodes.pod_status import is_finished, is_terminating, spec_of, status_of
from steersman.nodes.pods import BY_NODE, NODES, PODS, address_of, nodes_of, remember_addresses
from steersman.nodes.processes.fields import ConfigError
from steersman.nodes.processes.files import make_private, remove
from steersman.nodes.processes.host import ProcessHost
from steersman.nodes.processes.pod_life import PodLife
from steersman.nodes.processes.process import Guard
from steersman.nodes.processes.resources import ApiAddress, PodResources
from steersman.nodes.processes.selection import is_process_pod
from steersman.runtime.controller import Controller

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.nodes.pod_addresses import PodAddresses
    from steersman.runtime.context import ControllerContext
    from steersman.runtime.result import Result

    Tree = dict[str, Any]

_WORKERS: Final = 8
#: How often files of volumes are brought up to date, tokens among them: well before the shortest of these expire.
REFRESH_SECONDS: Final = 60.0
#: Containers that are left when this process ends get so long.
_LAST_GRACE_SECONDS: Final = 5.0


class ProcessPodKeeper(Controller):
    """Watches pods that are bound to simulated nodes and are to run as processes."""

    name: ClassVar[str] = "process-pods"

    def __init__(
        self,
        context: ControllerContext,
        *,
        addresses: PodAddresses,
        kubeconfig: Path | None = None,
        directory: Path | None = None,
    ) -> None:
        """``addresses`` are shared with simulated pods.

        ``directory``: where pods' files lie; None: in a temporary folder that goes with this process.
        """
        super().__init__(context, workers=_WORKERS)
        self._recorder = context.events.recorder("kubelet")
        self._api = ApiAddress(find_access(kubeconfig).server)
        self._temporary = directory is None
        self._directory = directory or Path()
        self._guard = Guard()
        self._addresses = addresses
        self._running = Supervisor("process pods")
        self._lives: dict[str, PodLife] = {}
        self._resources: dict[str, PodResources] = {}
        #: Pods that are being stopped, and those whose stop is over.
        self._stopping: set[str] = set()
        self.host: Final = ProcessHost(self._lives, self._guard, concerns=lambda pod: self._node_of(pod) is not None)
        self._nodes = self.informer(NODES)
        self._nodes.add_callback(self._node_changed)
        self._pods = self.watch(PODS, when=self._concerns_us)
        self._pods.add_index(BY_NODE, nodes_of)
        self.every(REFRESH_SECONDS, self._refresh, jitter=0.1, name="volumes of process pods")

    def concerns(self, pod: Tree, node: Tree) -> bool:
        """Whether a pod on its node runs as processes."""
        return is_process_pod(pod, node)

    def _node_of(self, pod: Tree) -> Tree | None:
        name = spec_of(pod).get("nodeName")
        node = self._nodes.lister.get(name) if name else None
        known = node is not None and is_kept(node) and not is_stopped(node)
        return node if node is not None and known and self.concerns(pod, node) else None

    def _concerns_us(self, change: Change[Tree]) -> bool:
        if isinstance(change, Deleted):
            self._gone(change.latest)
            return False
        return self._node_of(change.latest) is not None

    def _node_changed(self, change: Change[Tree]) -> None:
        """A node that has come, or come back, takes care of its pods."""
        old = getattr(change, "old", None)
        if isinstance(change, Deleted) or (old is not None and is_stopped(old) == is_stopped(change.new)):
            return
        if self.is_ready:
            for pod in self._pods.lister.by_index(BY_NODE, name_of(change.new)):
                self._look_at(pod)

    def _look_at(self, pod: Tree) -> None:
        if self._node_of(pod) is not None:
            self.enqueue(pod)

    async def start(self) -> None:
        """Pods may have been heard of before their nodes were, and have their addresses already."""
        remember_addresses(self._addresses, self._pods.lister, self._nodes.lister)
        for pod in self._pods.lister:
            self._look_at(pod)

    def _gone(self, pod: Tree) -> None:
        """A pod that was deleted under us, or by us: what is left of it goes."""
        uid = uid_of(pod)
        self._addresses.forget(uid)
        if uid in self._lives and uid not in self._stopping:
            self._stopping.add(uid)
            self._running.start(f"end of {key_of(pod)}", self._stop(uid, key_of(pod), 0.0))
        elif uid in self._lives and self._lives[uid].is_over:
            self._running.start(f"files of {key_of(pod)}", self._forget(uid))

    async def run(self) -> None:
        """Until ``stop``; then all containers end."""
        if self._temporary:
            self._directory = self._guard.folder = Path(tempfile.mkdtemp(prefix="steersman-pods-"))
        make_private(self._directory)
        try:
            await super().run()
        finally:
            await self._end_all()

    async def _end_all(self) -> None:
        lives = [life for life in self._lives.values() if not life.is_over]
        await asyncio.gather(*(life.stop(_LAST_GRACE_SECONDS) for life in lives))
        await self._running.close()
        for life in self._lives.values():
            await life.close()
        self._guard.close()
        if self._temporary:
            remove(self._directory)

    async def reconcile(self, key: str) -> Result | None:
        """Have the pod live, tell how it is, or bring it to its end."""
        namespace, name = split_key(key)
        pod = self._pods.lister.get(name, namespace=namespace)
        node = self._node_of(pod) if pod is not None else None
        if pod is None or node is None:
            return None
        uid = uid_of(pod)
        life = self._lives.get(uid)
        if life is None:
            if is_terminating(pod):
                await self._delete(pod)
            elif not is_finished(pod):
                self._begin(key, pod, node)
            return None
        await self._tell(key, pod, node, life)
        if is_terminating(pod):
            await self._go(key, pod, life)
        return None

    def _begin(self, key: str, pod: Tree, node: Tree) -> None:
        uid = uid_of(pod)
        resources = PodResources(
            self.client, pod, node, directory=self._directory, guard=self._guard, api=self._api, recorder=self._recorder
        )
        life = PodLife(pod, resources, changed=lambda: self.queue.add(key))
        self._resources[uid], self._lives[uid] = resources, life
        self._running.start(key, life.run())

    async def _tell(self, key: str, pod: Tree, node: Tree, life: PodLife) -> None:
        host_ip = internal_ip(node)
        ip = host_ip if spec_of(pod).get("hostNetwork") else address_of(pod, node, self._addresses)
        status = life.status(pod, host_ip=host_ip, pod_ip=ip)
        if _differs(status, status_of(pod)):
            patch = {"metadata": {"uid": uid_of(pod)}, "status": status}
            try:
                written = await self.client.patch(
                    PODS, name_of(pod), patch, patch_type=PatchType.STRATEGIC, namespace=namespace_of(pod),
                    subresource="status",
                )  # fmt: skip
            except NotFound:
                return
            self.own_writes.note(key, self._pods, written)

    async def _go(self, key: str, pod: Tree, life: PodLife) -> None:
        uid = uid_of(pod)
        if life.is_over:
            await self._delete(pod)
        elif uid not in self._stopping:
            self._stopping.add(uid)
            grace = pod["metadata"].get("deletionGracePeriodSeconds")
            self._running.start(f"end of {key}", self._stop(uid, key, 30.0 if grace is None else float(grace)))

    async def _stop(self, uid: str, key: str, grace_seconds: float) -> None:
        life = self._lives[uid]
        await life.stop(grace_seconds)
        self.queue.add(key)
        namespace, name = split_key(key)
        if self._pods.lister.get(name, namespace=namespace) is None:
            await self._forget(uid)

    async def _delete(self, pod: Tree) -> None:
        try:
            await self.client.delete_object(pod, uid=uid_of(pod), grace_period_seconds=0)
        except NotFound:
            return

    async def _forget(self, uid: str) -> None:
        life, resources = self._lives.pop(uid, None), self._resources.pop(uid, None)
        self._stopping.discard(uid)
        if life is not None:
            await life.close()
        if resources is not None:
            remove(resources.directory)

    async def _refresh(self) -> None:
        for uid, resources in list(self._resources.items()):
            life = self._lives.get(uid)
            pod = self._pods.lister.get(name_of(resources.pod), namespace=namespace_of(resources.pod))
            if life is None or life.is_over or pod is None or uid_of(pod) != uid:
                continue
            try:
                await resources.refresh(pod)
            except (ClientError, ConfigError) as error:
                self.log.warning("volumes of pod %s cannot be brought up to date: %s", key_of(pod), error)


def _differs(status: Tree, known: Tree) -> bool:
    """Whether a status tells anything else than the one that is known; conditions of others do not count."""
    for name, value in status.items():
        if name != "conditions":
            if known.get(name) != value:
                return True
            continue
        theirs = {each.get("type"): each for each in known.get("conditions") or ()}
        for each in value:
            old = theirs.get(each["type"]) or {}
            if any((old.get(field) or None) != (each.get(field) or None) for field in ("status", "reason", "message")):
                return True
    return False
