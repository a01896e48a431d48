"""Controller of process pods: runs their containers, reports their status, and deletes terminated pods."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from steersman.asynckit.tasks import Supervisor
from steersman.client.connecting import find_access
from steersman.client.errors import ClientError, NotFound
from steersman.client.objects import key_of, name_of, namespace_of, split_key, uid_of
from steersman.client.requests import PatchType
from steersman.nodes.bound_pods import PODS, BoundPodController
from steersman.nodes.node_object import internal_ip
from steersman.nodes.pod_preemption import DISRUPTION_MESSAGE, MESSAGE, PREEMPTING
from steersman.nodes.pod_status import is_finished, is_terminating, spec_of, status_of
from steersman.nodes.processes.fields import ContainerConfigError
from steersman.nodes.processes.files import make_private, remove
from steersman.nodes.processes.host import ProcessHost
from steersman.nodes.processes.isolation import probe_isolation
from steersman.nodes.processes.pod_worker import PodWorker
from steersman.nodes.processes.process import Guard
from steersman.nodes.processes.resources import ApiAddress, PodResources
from steersman.nodes.processes.selection import is_process_pod
from steersman.nodes.processes.statuses import End

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.nodes.pod_addresses import PodAddresses
    from steersman.nodes.pod_admission import PodAdmission
    from steersman.nodes.processes.images import LocalImages
    from steersman.runtime.context import ControllerContext
    from steersman.runtime.result import Result


_WORKERS: Final = 8
#: Refresh interval of volumes, well below the shortest lifetime of projected tokens.
REFRESH_SECONDS: Final = 60.0
#: Grace period of running containers when this process exits.
_EXIT_GRACE_SECONDS: Final = 5.0


class IsolationError(RuntimeError):
    """Isolation of process pods is required, but not supported by this machine."""


class ProcessPodController(BoundPodController):
    """Controller of pods that are bound to simulated nodes and selected to run as processes."""

    name: ClassVar[str] = "process-pods"

    def __init__(
        self,
        context: ControllerContext,
        *,
        addresses: PodAddresses,
        admission: PodAdmission,
        isolation: str = "none",
        images: LocalImages | None = None,
        kubeconfig: Path | None = None,
        directory: Path | None = None,
    ) -> None:
        """``addresses`` and ``admission`` are shared with simulated pods; ``isolation`` is one of
        ``nodes.options.ISOLATIONS``; ``images``: local commands in place of images.

        ``directory`` of the pods' files; None: a temporary directory that is removed when this process exits.
        """
        super().__init__(context, workers=_WORKERS, addresses=addresses, admission=admission)
        self._recorder = context.events.recorder("kubelet")
        self._api = ApiAddress(find_access(kubeconfig).server)
        self._temporary = directory is None
        self._directory = directory or Path()
        self._guard = Guard()
        self._isolation = isolation
        self._images = images
        #: Reason why containers are not isolated although isolation is configured; empty otherwise.
        self._isolation_error = ""
        self._running = Supervisor("process pods")
        self._pod_workers: dict[str, PodWorker] = {}
        self._resources: dict[str, PodResources] = {}
        #: UIDs of pods whose termination has begun.
        self._stopping: set[str] = set()
        self.host: Final = ProcessHost(
            self._pod_workers, self._guard, concerns=lambda pod: self._node_of(pod) is not None
        )
        self.every(REFRESH_SECONDS, self._refresh, jitter=0.1, name="volumes of process pods")

    def concerns(self, pod: Tree, node: Tree) -> bool:
        return is_process_pod(pod, node)

    def pod_deleted(self, pod: Tree) -> None:
        """Stop the containers and remove the files of a deleted pod."""
        uid = uid_of(pod)
        super().pod_deleted(pod)
        if uid in self._pod_workers and uid not in self._stopping:
            self._stopping.add(uid)
            self._running.start(f"end of {key_of(pod)}", self._stop(uid, key_of(pod), 0.0))
        elif uid in self._pod_workers and self._pod_workers[uid].is_over:
            self._running.start(f"files of {key_of(pod)}", self._forget(uid))

    async def run(self) -> None:
        """Run until ``stop``; then stop all containers."""
        if self._temporary:
            self._directory = self._guard.folder = Path(tempfile.mkdtemp(prefix="steersman-pods-"))
        make_private(self._directory)
        try:
            await self._check_isolation()
            await super().run()
        finally:
            await self._stop_all()

    async def _check_isolation(self) -> None:
        """Probe whether this machine can isolate containers. Raises ``IsolationError`` if isolation is required and impossible."""
        if self._isolation == "none":
            return
        self._isolation_error = await probe_isolation()
        if self._isolation_error and self._isolation == "namespaces":
            raise IsolationError(f"--process-isolation=namespaces: {self._isolation_error}")

    async def _stop_all(self) -> None:
        workers = [worker for worker in self._pod_workers.values() if not worker.is_over]
        await asyncio.gather(*(worker.stop(_EXIT_GRACE_SECONDS) for worker in workers))
        await self._running.close()
        for worker in self._pod_workers.values():
            await worker.close()
        self._guard.close()
        if self._temporary:
            remove(self._directory)

    async def reconcile(self, key: str) -> Result | None:
        """Start the pod's containers, report its status, or terminate it."""
        namespace, name = split_key(key)
        pod = self._pods.lister.get(name, namespace=namespace)
        node = self._node_of(pod) if pod is not None else None
        if pod is None or node is None:
            return None
        uid = uid_of(pod)
        worker = self._pod_workers.get(uid)
        if worker is None:
            if is_terminating(pod):
                await self._delete(pod)
            elif not is_finished(pod):
                await self._admit(key, pod, node)
            return None
        self._resources[uid].observe(pod)
        if not is_terminating(pod):
            worker.start_ephemeral_containers(pod)
        await self._report_status(key, pod, node, worker)
        if is_terminating(pod):
            await self._terminate(key, pod, worker)
        elif self._admission.is_preempted(uid) and uid not in self._stopping:
            self._stopping.add(uid)
            self._recorder.on_host(spec_of(pod)["nodeName"]).event(pod, "Warning", PREEMPTING, MESSAGE)
            self._running.start(f"preemption of {key}", self._fail(uid, key, worker))
        return None

    async def _fail(self, uid: str, key: str, worker: PodWorker) -> None:
        await worker.fail(End(PREEMPTING, MESSAGE, DISRUPTION_MESSAGE))
        self._stopping.discard(uid)
        await self._after_stop(uid, key)

    async def _admit(self, key: str, pod: Tree, node: Tree) -> None:
        """Start the pod's containers, or fail it if the node rejects it."""
        rejection = self._admission.admit(pod, node)
        if rejection is None:
            if not self._admission.is_waiting(uid_of(pod)):
                self._start_worker(key, pod, node)
        else:
            self._recorder.on_host(spec_of(pod)["nodeName"]).event(pod, "Warning", rejection.reason, rejection.message)
            await self._write_status(key, pod, rejection.status(pod, now=self.clock.now()))

    def _start_worker(self, key: str, pod: Tree, node: Tree) -> None:
        uid = uid_of(pod)
        resources = PodResources(
            self.client,
            pod,
            node,
            directory=self._directory,
            guard=self._guard,
            api=self._api,
            recorder=self._recorder.on_host(spec_of(pod)["nodeName"]),
            images=self._images,
            is_isolated=self._isolation != "none" and not self._isolation_error,
        )
        if self._isolation_error:
            self._recorder.on_host(spec_of(pod)["nodeName"]).event(
                pod, "Warning", "NotIsolated", f"Containers run without isolation: {self._isolation_error}"
            )
        worker = PodWorker(pod, resources, changed=lambda: self.queue.add(key))
        self._resources[uid], self._pod_workers[uid] = resources, worker
        self._running.start(key, worker.run())
        worker.start_ephemeral_containers(pod)

    async def _report_status(self, key: str, pod: Tree, node: Tree, worker: PodWorker) -> None:
        host_ip = internal_ip(node)
        ip = host_ip if spec_of(pod).get("hostNetwork") else self._address_of(pod, node)
        status = worker.status(pod, host_ip=host_ip, pod_ip=ip)
        if _differs(status, status_of(pod)):
            await self._write_status(key, pod, status)

    async def _write_status(self, key: str, pod: Tree, status: Tree) -> None:
        patch = {"metadata": {"uid": uid_of(pod)}, "status": status}
        try:
            written = await self.client.patch(
                PODS, name_of(pod), patch, patch_type=PatchType.STRATEGIC, namespace=namespace_of(pod),
                subresource="status",
            )  # fmt: skip
        except NotFound:
            return
        self.own_writes.note(key, self._pods, written)

    async def _terminate(self, key: str, pod: Tree, worker: PodWorker) -> None:
        uid = uid_of(pod)
        if worker.is_over:
            await self._delete(pod)
        elif uid not in self._stopping:
            self._stopping.add(uid)
            grace = pod["metadata"].get("deletionGracePeriodSeconds")
            self._running.start(f"end of {key}", self._stop(uid, key, 30.0 if grace is None else float(grace)))

    async def _stop(self, uid: str, key: str, grace_seconds: float) -> None:
        worker = self._pod_workers[uid]
        await worker.stop(grace_seconds)
        await self._after_stop(uid, key)

    async def _after_stop(self, uid: str, key: str) -> None:
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
        worker, resources = self._pod_workers.pop(uid, None), self._resources.pop(uid, None)
        self._stopping.discard(uid)
        if worker is not None:
            await worker.close()
        if resources is not None:
            remove(resources.directory)

    async def _refresh(self) -> None:
        for uid, resources in list(self._resources.items()):
            worker = self._pod_workers.get(uid)
            pod = self._pods.lister.get(name_of(resources.pod), namespace=namespace_of(resources.pod))
            if worker is None or worker.is_over or pod is None or uid_of(pod) != uid:
                continue
            try:
                await resources.refresh(pod)
            except (ClientError, ContainerConfigError) as error:
                self.log.warning("volumes of pod %s cannot be brought up to date: %s", key_of(pod), error)


def _differs(status: Tree, reported_status: Tree) -> bool:
    """True if a status differs from the reported one; conditions of other components are ignored."""
    for name, value in status.items():
        if name != "conditions":
            if reported_status.get(name) != value:
                return True
            continue
        reported = {condition.get("type"): condition for condition in reported_status.get("conditions") or ()}
        for key in value:
            old = reported.get(key["type"]) or {}
            if any((old.get(field) or None) != (key.get(field) or None) for field in ("status", "reason", "message")):
                return True
    return False
