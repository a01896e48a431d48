"""Worker of one process pod: init containers in order, sidecars, main and ephemeral containers, termination. Upstream:
pkg/kubelet/pod_workers.go.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import parse_time
from steersman.asynckit.tasks import Supervisor
from steersman.nodes.pod_status import deadline_of, is_sidecar, restart_action, spec_of, status_of
from steersman.nodes.processes.container import ContainerRunner
from steersman.nodes.processes.fields import grace_seconds_of
from steersman.nodes.processes.statuses import ContainerFacts, End, Terminated, pod_status

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.processes.container import ContainerContext


_KILLED_CODE: Final = 137
_DEADLINE: Final = End("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class PodWorker:
    """Worker of one pod: ``run`` it as a task, ``stop`` it from another; ``changed`` is called when its status may have
    changed.
    """

    def __init__(self, pod: Tree, context: ContainerContext, *, changed: Callable[[], None]) -> None:
        self._context = context
        self._changed = changed
        self._pod = pod
        self._tasks = Supervisor(f"pod {pod['metadata']['name']}")
        self._stop_lock = asyncio.Lock()
        self._end: End | None = None
        self._is_stopping = False
        #: True when all containers have terminated without a further restart.
        self.is_over = False
        self._finished = asyncio.Event()
        #: Runners of all containers by name; ephemeral ones are added when they are started.
        self.containers: dict[str, ContainerRunner] = {
            container["name"]: self._runner(pod, container)
            for kind in ("initContainers", "containers")
            for container in spec_of(pod).get(kind) or ()
        }
        #: Tasks of ephemeral containers by name.
        self._ephemeral: dict[str, asyncio.Task[int]] = {}

    def _runner(self, pod: Tree, container: Tree) -> ContainerRunner:
        facts = _facts_from_status(pod, container, self._context.clock.now())
        return ContainerRunner(container, self._context, facts, uid=pod["metadata"]["uid"], changed=self._changed)

    def status(self, pod: Tree, *, host_ip: str, pod_ip: str) -> Tree:
        """Return the pod's current status."""
        return pod_status(
            pod,
            {name: runner.facts for name, runner in self.containers.items()},
            now=self._context.clock.now(),
            host_ip=host_ip,
            pod_ip=pod_ip,
            is_over=self.is_over,
            # As upstream's, a pod is not reported as failed while it may have running containers.
            end=self._end if self.is_over else None,
        )

    async def run(self) -> None:
        """Run until all containers have terminated for good."""
        if (deadline := deadline_of(self._pod) or self._deadline()) is not None:
            self._tasks.start("deadline", self._expire(deadline))
        try:
            if await self._initialize():
                mains = spec_of(self._pod)["containers"]
                await asyncio.gather(
                    *(self.containers[main["name"]].run(partial(self._restarts, main)) for main in mains)
                )
            await self._end_ephemeral_containers()
            await self._stop_sidecars(grace_seconds_of(self._pod))
        finally:
            self.is_over = True
            self._finished.set()
            self._changed()

    def start_ephemeral_containers(self, pod: Tree) -> None:
        """Start the ephemeral containers that were added to the pod, unless it ends. They are never restarted."""
        for container in spec_of(pod).get("ephemeralContainers") or ():
            name = container["name"]
            if name not in self._ephemeral and not self._is_stopping and not self.is_over:
                runner = self.containers[name] = self._runner(pod, container)
                self._ephemeral[name] = self._tasks.start(name, runner.run(lambda _: False))

    async def _end_ephemeral_containers(self) -> None:
        """Stop ephemeral containers when all others have terminated, and wait until they have ended."""
        was_stopping, self._is_stopping = self._is_stopping, True
        if not was_stopping:
            await self._stop_ephemeral_containers(grace_seconds_of(self._pod))
        await asyncio.gather(*self._ephemeral.values())

    async def _stop_ephemeral_containers(self, grace_seconds: float) -> None:
        await asyncio.gather(*(self.containers[name].stop(grace_seconds) for name in self._ephemeral))

    def _deadline(self) -> datetime | None:
        seconds = spec_of(self._pod).get("activeDeadlineSeconds")
        return None if seconds is None else self._context.clock.now() + timedelta(seconds=seconds)

    async def _initialize(self) -> bool:
        """Run the init containers; return True if the main containers may start."""
        for init_container in spec_of(self._pod).get("initContainers") or ():
            runner = self.containers[init_container["name"]]
            if is_sidecar(init_container):
                self._tasks.start(init_container["name"], runner.run(lambda _: True))
                await runner.startup_done.wait()
            elif await runner.run(partial(self._restarts, init_container, is_init=True)) != 0:
                return False
            if self._is_stopping:
                return False
        return True

    def _restarts(self, container: Tree, code: int, *, is_init: bool = False) -> bool:
        return bool(restart_action(self._pod, container, code, is_init=is_init))

    async def _expire(self, deadline: datetime) -> None:
        await self._context.clock.sleep((deadline - self._context.clock.now()).total_seconds())
        await self.fail(_DEADLINE, wait=False)

    async def fail(self, end: End, *, wait: bool = True) -> None:
        """Stop all containers within the pod's grace period; the pod then fails with ``end``."""
        self._end = end
        await self.stop(grace_seconds_of(self._pod), wait=wait)

    async def stop(self, grace_seconds: float, *, wait: bool = True) -> None:
        """Stop all containers, sidecars last and in reverse order of their start."""
        self._is_stopping = True
        async with self._stop_lock:
            startup_done = self._context.clock.monotonic()
            names = [
                init_container["name"]
                for init_container in spec_of(self._pod).get("initContainers") or ()
                if not is_sidecar(init_container)
            ]
            names += [container["name"] for container in spec_of(self._pod).get("containers") or ()]
            names += self._ephemeral
            await asyncio.gather(*(self.containers[name].stop(grace_seconds) for name in names))
            remaining = max(0.0, grace_seconds - (self._context.clock.monotonic() - startup_done))
            await self._stop_sidecars(remaining)
        if wait and not self._finished.is_set():
            await self._finished.wait()

    async def _stop_sidecars(self, grace_seconds: float) -> None:
        for init_container in reversed(spec_of(self._pod).get("initContainers") or []):
            if is_sidecar(init_container):
                await self.containers[init_container["name"]].stop(grace_seconds)

    async def close(self) -> None:
        """Release tasks and logs after ``run`` has ended or was cancelled. Idempotent."""
        await self._tasks.close()
        for runner in self.containers.values():
            for log in (runner.log, runner.previous_log):
                if log is not None:
                    log.close()


def _facts_from_status(pod: Tree, container: Tree, now: datetime) -> ContainerFacts:
    """Return the last facts of a container that ran under an earlier process; it was killed with that process."""
    status = status_of(pod)
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for container_status in status.get(kind) or ():
            if container_status.get("name") == container["name"]:
                return _facts(container_status, now)
    return ContainerFacts()


def _facts(status: Tree, now: datetime) -> ContainerFacts:
    state, count, instance = status.get("state") or {}, status.get("restartCount") or 0, status.get("containerID", "")
    ended = state.get("terminated")
    if ended is not None:
        times = (parse_time(ended.get("startedAt") or ended["finishedAt"]), parse_time(ended["finishedAt"]))
        return ContainerFacts(
            Terminated(ended.get("exitCode", 0), *times, instance, ended.get("reason", "")), restarts=count
        )
    running = state.get("running")
    if running is None:
        return ContainerFacts(restarts=count)
    return ContainerFacts(
        Terminated(_KILLED_CODE, parse_time(running["startedAt"]), now, instance, "ContainerStatusUnknown"),
        restarts=count,
    )
