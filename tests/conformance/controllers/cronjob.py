"""Scenario of CronJobs: at most one Job per minute, history limits, and a matching status."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from lightkube.models import batch_v1
from tests.conformance.controllers.replication import pods_of
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import annotations_of, name_of, uid_of
from steersman.controllers.cronjob.plan import SCHEDULED_AT, ended_as
from steersman.runtime.owners import controller_of

NAMES = ("a", "b")
EVERY = timedelta(minutes=1)


class Cronjob(Scenario):
    """Users change schedules, suspend, and delete Jobs; Jobs succeed or fail."""

    controllers = ("cronjob", "garbagecollector")

    def edits(self) -> Edits:
        return [self.make, self.make, self.suspend, self.resume, self.change_limits,
                self.change_concurrency, self.remove, self.lose_job, self.wait, self.wait]  # fmt: skip

    async def live(self, world: World) -> None:
        """End some Jobs."""
        for job in await world.all(batch_v1.Job):
            if not ended_as(job) and world.dice.random() < 0.3:
                await self._end(world, job, "Complete" if world.dice.random() < 0.7 else "Failed")

    async def _end(self, world: World, job: batch_v1.Job, condition_type: str) -> None:
        now = world.clock.now().replace(microsecond=0)
        criterion = "SuccessCriteriaMet" if condition_type == "Complete" else "FailureTarget"
        conditions = [
            {"type": name, "status": "True", "lastTransitionTime": now} for name in (criterion, condition_type)
        ]
        status: dict[str, Any] = {"startTime": now, "conditions": conditions}
        if condition_type == "Complete":
            status["completionTime"] = now
        await world.client.patch(
            batch_v1.Job, name_of(job), {"status": status}, namespace=NAMESPACE, subresource="status"
        )  # fmt: skip

    async def make(self, world: World) -> None:
        dice = world.dice
        job = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
        spec = {"schedule": "* * * * *", "jobTemplate": job, "suspend": dice.random() < 0.2,
                "concurrencyPolicy": dice.choice(["Allow", "Forbid", "Replace"]),
                "startingDeadlineSeconds": dice.choice([None, 30, 100])}  # fmt: skip
        metadata = {"name": dice.choice(NAMES)}
        tree = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec}
        await world.client.create(tree, namespace=NAMESPACE)

    async def _patch(self, world: World, spec: dict[str, Any]) -> None:
        cron = await world.any(batch_v1.CronJob)
        if cron is not None:
            await world.client.patch(batch_v1.CronJob, name_of(cron), {"spec": spec}, namespace=NAMESPACE)

    async def suspend(self, world: World) -> None:
        await self._patch(world, {"suspend": True})

    async def resume(self, world: World) -> None:
        await self._patch(world, {"suspend": False})

    async def change_limits(self, world: World) -> None:
        limits = {key: world.dice.choice([0, 1, 2]) for key in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")}
        await self._patch(world, limits)

    async def change_concurrency(self, world: World) -> None:
        await self._patch(world, {"concurrencyPolicy": world.dice.choice(["Allow", "Forbid", "Replace"])})

    async def remove(self, world: World) -> None:
        cron = await world.any(batch_v1.CronJob)
        if cron is not None:
            await world.client.delete_object(cron, propagation_policy=world.dice.choice(["Background", "Foreground"]))

    async def lose_job(self, world: World) -> None:
        job = await world.any(batch_v1.Job)
        if job is not None:
            await world.client.delete_object(job, propagation_policy="Background")

    async def wait(self, world: World) -> None:
        await world.advance(world.dice.choice([20, 61, 400]))

    async def wrong(self, world: World) -> str:
        jobs, crons = await world.all(batch_v1.Job), await world.all(batch_v1.CronJob)
        owner_uids = {uid_of(cron) for cron in crons}
        lost = [
            name_of(job) for job in jobs if (owner := controller_of(job)) is not None and owner.uid not in owner_uids
        ]
        if lost:
            return f"jobs of what is gone: {lost}"
        for cron in crons:
            fault = self._wrong_with(world, cron, pods_of(jobs, cron))
            if fault:
                return f"{name_of(cron)}: {fault}; {cron.status}; {[(name_of(job), ended_as(job)) for job in jobs]}"
        return ""

    def _wrong_with(self, world: World, cron: batch_v1.CronJob, jobs: list[batch_v1.Job]) -> str:
        if cron.metadata.deletionTimestamp is not None:
            return "it is still there"
        times = [annotations_of(job)[SCHEDULED_AT] for job in jobs]
        running = {uid_of(job) for job in jobs if not ended_as(job)}
        if len(times) != len(set(times)):
            return "two jobs for one time"
        if {reference.uid for reference in cron.status.active or ()} != running:
            return "it does not know its jobs"
        if len(running) > 1 and cron.spec.concurrencyPolicy == "Replace":
            return "more than one runs"
        for condition_type, limit in (
            ("Complete", cron.spec.successfulJobsHistoryLimit),
            ("Failed", cron.spec.failedJobsHistoryLimit),
        ):
            if sum(ended_as(job) == condition_type for job in jobs) > limit:
                return "too many are kept"
        last, now = cron.status.lastScheduleTime, world.clock.now()
        if cron.spec.suspend or (cron.spec.concurrencyPolicy == "Forbid" and running):
            return ""
        # The minute that has just begun is ignored: the controller may not have reconciled since.
        due = now.replace(second=0, microsecond=0) - (EVERY if now.second < 1 else timedelta())
        return (
            "" if due <= cron.metadata.creationTimestamp or (last and last >= due) else f"nothing was started at {due}"
        )
