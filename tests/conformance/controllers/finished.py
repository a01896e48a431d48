"""Scenario of Jobs with a TTL: each is deleted with its pods after its TTL, never before."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from lightkube.models import batch_v1
from lightkube.models.core_v1 import Pod
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import metadata_field, name_of, uid_of
from steersman.runtime.owners import controller_of

NAMES = ("a", "b", "c", "d")
TTLS = (None, 0, 10, 40)


class Finished(Scenario):
    """Jobs finish; users set and remove the TTL, and recreate Jobs under their names."""

    controllers = ("ttl-after-finished-controller", "garbage-collector-controller")

    def __init__(self) -> None:
        #: Names by UID of Jobs that were never deleted by users nor expired.
        self._must_stay: dict[str, str] = {}
        #: Expiration of a Job by UID, as last recorded.
        self._due: dict[str, datetime | None] = {}

    def edits(self) -> Edits:
        return [self.make, self.make, self.make, self.end, self.end, self.end, self.give_time,
                self.give_time, self.remove, self.replace, self.add_pod, self.add_pod]  # fmt: skip

    async def edit(self, world: World) -> None:
        self._excuse(world)
        await super().edit(world)

    async def live(self, world: World) -> None:
        await world.remove_deleted_pods()

    async def make(self, world: World) -> None:
        await self._make(world, world.dice.choice(NAMES))

    async def _make(self, world: World, name: str) -> None:
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        spec = {"template": template, "ttlSecondsAfterFinished": world.dice.choice(TTLS)}
        body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
        self._must_stay[uid_of(await world.client.create(body, namespace=NAMESPACE))] = name

    async def end(self, world: World) -> None:
        """Finish a Job in place of the Job controller, which does not run here."""
        job = await world.any(batch_v1.Job, lambda job: _ended_at(job) is None)
        if job is None:
            return
        now = world.clock.now().replace(microsecond=0)
        self._due[uid_of(job)] = _due(now, job.spec.ttlSecondsAfterFinished)
        criterion, condition_type = world.dice.choice([("SuccessCriteriaMet", "Complete"), ("FailureTarget", "Failed")])
        conditions = [
            {"type": type_, "status": "True", "lastTransitionTime": now} for type_ in (criterion, condition_type)
        ]
        status: dict[str, Any] = {"startTime": now, "conditions": conditions}
        status |= {"completionTime": now} if condition_type == "Complete" else {}
        patch = {"metadata": {"uid": uid_of(job)}, "status": status}
        await world.client.patch(batch_v1.Job, name_of(job), patch, namespace=NAMESPACE, subresource="status")

    async def give_time(self, world: World) -> None:
        job = await world.any(batch_v1.Job)
        if job is not None:
            seconds = world.dice.choice(TTLS)
            self._due[uid_of(job)] = _due(_ended_at(job), seconds)
            patch = {"spec": {"ttlSecondsAfterFinished": seconds}}
            await world.client.patch(batch_v1.Job, name_of(job), patch, namespace=NAMESPACE)

    async def remove(self, world: World) -> None:
        job = await world.any(batch_v1.Job)
        if job is not None:
            await self._remove(world, job)

    async def _remove(self, world: World, job: batch_v1.Job) -> None:
        self._must_stay.pop(uid_of(job), None)
        await world.client.delete_object(job, propagation_policy="Background")

    async def replace(self, world: World) -> None:
        job = await world.any(batch_v1.Job)
        if job is not None:
            await self._remove(world, job)
            await self._make(world, name_of(job))

    async def add_pod(self, world: World) -> None:
        job = await world.any(batch_v1.Job)
        if job is None:
            return
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name_of(job), "uid": uid_of(job),
                 "controller": True, "blockOwnerDeletion": True}  # fmt: skip
        metadata = {"generateName": f"{name_of(job)}-", "ownerReferences": [owner]}
        spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        await world.client.create(body, namespace=NAMESPACE)

    # What must be so

    def _excuse(self, world: World) -> None:
        """Record expired Jobs before an edit: their deletion is correct."""
        over = [uid for uid in self._must_stay if (due := self._due.get(uid)) and due <= world.clock.now()]
        for uid in over:
            del self._must_stay[uid]

    async def wrong(self, world: World) -> str:
        self._excuse(world)
        jobs = {uid_of(job): job for job in await world.all(batch_v1.Job)}
        lost = sorted(name for uid, name in self._must_stay.items() if uid not in jobs)
        if lost:
            return f"{lost} are gone before their time"
        for job in jobs.values():
            if metadata_field(job, "deletionTimestamp"):
                return f"{name_of(job)} is still being deleted"
            due = _due(_ended_at(job), job.spec.ttlSecondsAfterFinished)
            if due is not None and due < world.clock.now() - timedelta(seconds=1):
                return f"{name_of(job)} is still there, and its time is over"
        orphans = [name_of(pod) for pod in await world.all(Pod)
                   if (owner := controller_of(pod)) is not None and owner.uid not in jobs]  # fmt: skip
        return f"{orphans} are there, and their Jobs are not" if orphans else ""


def _ended_at(job: batch_v1.Job) -> datetime | None:
    rows = (job.status.conditions if job.status else None) or ()
    return next((row.lastTransitionTime for row in rows if row.type in ("Complete", "Failed")), None)


def _due(ended: datetime | None, seconds: int | None) -> datetime | None:
    return None if ended is None or seconds is None else ended + timedelta(seconds=seconds)
