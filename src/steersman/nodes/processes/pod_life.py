"""The life of a pod whose containers are processes: init containers in order, sidecars, the others, and the end."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.timestamps import parse_time
from steersman.asynckit.tasks import Supervisor
from steersman.nodes.pod_status import deadline_of, restarts, spec_of, status_of
from steersman.nodes.processes.container import ContainerLife
from steersman.nodes.processes.statuses import End, Facts, Terminated, is_sidecar, pod_status

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from steersman.nodes.processes.container import Surroundings

    Tree = dict[str, Any]

_KILLED_CODE: Final = 137
_DEADLINE: Final = End("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class PodLife:
    """``run`` it as a task, ``stop`` it from another; ``changed`` is called whenever its status may be another."""

    def __init__(self, pod: Tree, around: Surroundings, *, changed: Callable[[], None]) -> None:
        self._around = around
        self._changed = changed
        self._pod = pod
        self._tasks = Supervisor(f"pod {pod['metadata']['name']}")
        self._stop_lock = asyncio.Lock()
        self._end: End | None = None
        self._is_stopping = False
        #: No container runs any more, nor ever will.
        self.is_over = False
        self._finished = asyncio.Event()
        spec, uid, now = spec_of(pod), pod["metadata"]["uid"], around.clock.now()
        self.containers: dict[str, ContainerLife] = {
            each["name"]: ContainerLife(each, around, _known(pod, each, now), uid=uid, changed=changed)
            for kind in ("initContainers", "containers")
            for each in spec.get(kind) or ()
        }

    def status(self, pod: Tree, *, host_ip: str, pod_ip: str) -> Tree:
        """What is to be told of it now."""
        return pod_status(
            pod,
            {name: life.facts for name, life in self.containers.items()},
            now=self._around.clock.now(),
            host_ip=host_ip,
            pod_ip=pod_ip,
            is_over=self.is_over,
            end=self._end,
        )

    async def run(self) -> None:
        """Until all containers have ended for good."""
        if (deadline := deadline_of(self._pod) or self._deadline()) is not None:
            self._tasks.start("deadline", self._expire(deadline))
        try:
            if await self._initialize():
                mains = [self._run(each["name"]) for each in spec_of(self._pod)["containers"]]
                await asyncio.gather(*mains)
            await self._stop_sidecars(self._grace_seconds())
        finally:
            self.is_over = True
            self._finished.set()
            self._changed()

    def _deadline(self) -> datetime | None:
        seconds = spec_of(self._pod).get("activeDeadlineSeconds")
        return None if seconds is None else self._around.clock.now() + timedelta(seconds=seconds)

    async def _initialize(self) -> bool:
        """Whether the containers may start now."""
        for each in spec_of(self._pod).get("initContainers") or ():
            life = self.containers[each["name"]]
            if is_sidecar(each):
                self._tasks.start(each["name"], life.run(lambda _: True))
                await life.begun.wait()
            elif not (isinstance(life.facts.state, Terminated) and life.facts.state.code == 0):
                again = spec_of(self._pod).get("restartPolicy", "Always") != "Never"
                if await life.run(partial(_fails_again, again)) != 0:
                    return False
            if self._is_stopping:
                return False
        return True

    async def _run(self, name: str) -> int:
        return await self.containers[name].run(partial(restarts, self._pod))

    def _grace_seconds(self) -> float:
        said = spec_of(self._pod).get("terminationGracePeriodSeconds")
        return 30.0 if said is None else float(said)

    async def _expire(self, deadline: datetime) -> None:
        await self._around.clock.sleep((deadline - self._around.clock.now()).total_seconds())
        self._end = _DEADLINE
        await self.stop(self._grace_seconds(), wait=False)

    async def stop(self, grace_seconds: float, *, wait: bool = True) -> None:
        """Have all containers end, sidecars last and the other way round than they were started."""
        self._is_stopping = True
        async with self._stop_lock:
            begun = self._around.clock.monotonic()
            names = [each["name"] for each in spec_of(self._pod).get("initContainers") or () if not is_sidecar(each)]
            names += [each["name"] for each in spec_of(self._pod).get("containers") or ()]
            await asyncio.gather(*(self.containers[name].stop(grace_seconds) for name in names))
            left = max(0.0, grace_seconds - (self._around.clock.monotonic() - begun))
            await self._stop_sidecars(left)
        if wait and not self._finished.is_set():
            await self._finished.wait()

    async def _stop_sidecars(self, grace_seconds: float) -> None:
        for each in reversed(spec_of(self._pod).get("initContainers") or []):
            if is_sidecar(each):
                await self.containers[each["name"]].stop(grace_seconds)

    async def close(self) -> None:
        """Let go of everything, when ``run`` has ended or was cancelled. Idempotent."""
        await self._tasks.close()
        for life in self.containers.values():
            for log in (life.log, life.previous_log):
                if log is not None:
                    log.close()


def _fails_again(again: bool, code: int) -> bool:  # noqa: FBT001 — bound before the code is known
    return again and code != 0


def _known(pod: Tree, container: Tree, now: datetime) -> Facts:
    """What the pod's status tells of a container that ran under a process before this one: it was killed with that."""
    status = status_of(pod)
    for kind in ("containerStatuses", "initContainerStatuses"):
        for each in status.get(kind) or ():
            if each.get("name") == container["name"]:
                return _facts(each, now)
    return Facts()


def _facts(status: Tree, now: datetime) -> Facts:
    state, count, instance = status.get("state") or {}, status.get("restartCount") or 0, status.get("containerID", "")
    ended = state.get("terminated")
    if ended is not None:
        times = (parse_time(ended.get("startedAt") or ended["finishedAt"]), parse_time(ended["finishedAt"]))
        return Facts(Terminated(ended.get("exitCode", 0), *times, instance, ended.get("reason", "")), restarts=count)
    running = state.get("running")
    if running is None:
        return Facts(restarts=count)
    return Facts(
        Terminated(_KILLED_CODE, parse_time(running["startedAt"]), now, instance, "ContainerStatusUnknown"),
        restarts=count,
    )
