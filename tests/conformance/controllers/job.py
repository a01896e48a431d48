"""Scenario of Jobs: each finishes, counts every Pod once, and leaves no Pod with its finalizer."""

from __future__ import annotations

from typing import Any

from lightkube.models import batch_v1
from lightkube.models.core_v1 import Pod
from tests.conformance.controllers.replication import pods_of
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import name_of, uid_of
from steersman.controllers.job import facts
from steersman.controllers.job.indexes import Indexes
from steersman.runtime.finalizers import has_finalizer
from steersman.runtime.owners import controller_of
from steersman.workloads.pods import is_active

NAMES = ("a", "b")
COMPLETIONS = (0, 1, 3, 5)


class Job(Scenario):
    """Users suspend, resize and remove Jobs; Pods succeed, fail and are deleted."""

    #: The last ends Pods that are deleted before they have a node.
    controllers = ("job", "garbagecollector", "podgc")

    def __init__(self) -> None:
        #: UIDs of succeeded Pods by UID of the Job.
        self.succeeded: dict[str, set[str]] = {}

    def edits(self) -> Edits:
        return [self.make, self.make, self.make, self.suspend, self.resume, self.resize,
                self.remove, self.delete_pod, self.delete_pod, self.fail_pod]  # fmt: skip

    async def live(self, world: World) -> None:
        """Act as Pods that do their work."""
        for pod in await world.all(Pod):
            if is_active(pod) and world.dice.random() < 0.5:
                await world.set_ready(pod, ready=False, phase="Succeeded")
                owner = controller_of(pod)
                if owner is not None:
                    self.succeeded.setdefault(owner.uid, set()).add(uid_of(pod))

    async def make(self, world: World) -> None:
        dice = world.dice
        indexed = dice.random() < 0.5
        spec: dict[str, Any] = {
            "completions": dice.choice(COMPLETIONS),
            "parallelism": dice.choice([1, 2, 4]),
            "backoffLimit": dice.choice([0, 1, 2]),
            "suspend": dice.random() < 0.2,
            "podReplacementPolicy": dice.choice(["Failed", "TerminatingOrFailed"]),
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
        }
        if indexed:
            spec["completionMode"] = "Indexed"
            if dice.random() < 0.5:
                spec |= {"backoffLimit": None, "backoffLimitPerIndex": 1}
        metadata = {"name": dice.choice(NAMES)}
        tree = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
        await world.client.create(tree, namespace=NAMESPACE)

    async def _patch(self, world: World, spec: dict[str, Any]) -> None:
        job = await world.any(batch_v1.Job)
        if job is not None:
            await world.client.patch(batch_v1.Job, name_of(job), {"spec": spec}, namespace=NAMESPACE)

    async def suspend(self, world: World) -> None:
        await self._patch(world, {"suspend": True})

    async def resume(self, world: World) -> None:
        await self._patch(world, {"suspend": False})

    async def resize(self, world: World) -> None:
        await self._patch(world, {"parallelism": world.dice.choice([1, 2, 5])})

    async def remove(self, world: World) -> None:
        job = await world.any(batch_v1.Job)
        if job is not None:
            policy = world.dice.choice(["Background", "Foreground", "Orphan"])
            await world.client.delete_object(job, propagation_policy=policy)

    async def fail_pod(self, world: World) -> None:
        pod = await world.any(Pod, is_active)
        if pod is not None:
            await world.set_ready(pod, ready=False, phase="Failed")

    async def wrong(self, world: World) -> str:
        pods, jobs = await world.all(Pod), await world.all(batch_v1.Job)
        waiting = [name_of(job) for job in jobs if job.spec.suspend and not facts.is_finished(job)]
        for name in waiting:  # concurrently: sequentially they would not end in time
            await world.client.patch(batch_v1.Job, name, {"spec": {"suspend": False}}, namespace=NAMESPACE)
        if waiting:
            return f"{waiting} are suspended"
        for job in jobs:
            fault = self._wrong_with(job, pods_of(pods, job))
            if fault:
                return f"{name_of(job)}: {fault}; {job.status}"
        held = [name_of(pod) for pod in pods if has_finalizer(pod, facts.TRACKING)]
        return f"pods with a finalizer: {held}" if held else ""

    def _wrong_with(self, job: batch_v1.Job, pods: list[Pod]) -> str:
        status = job.status
        if job.metadata.deletionTimestamp is not None:
            return "it is still there"
        if not facts.is_finished(job):
            return "it has not ended"
        if any(map(is_active, pods)) or status.active or status.terminating:
            return "pods are active still"
        uncounted = status.uncountedTerminatedPods
        if uncounted is not None and (uncounted.succeeded or uncounted.failed):
            return "pods are uncounted"
        count = status.succeeded or 0
        complete = any(condition.type == "Complete" for condition in status.conditions)
        if complete and count != job.spec.completions:
            return f"complete with {count} of {job.spec.completions}"
        if count > len(self.succeeded.get(uid_of(job), ())):
            return "more successes than pods that succeeded"
        reported = Indexes.parse(status.completedIndexes, job.spec.completions)
        return "indexes do not fit" if facts.is_indexed(job) and len(reported) != count else ""
