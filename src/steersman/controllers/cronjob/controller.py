"""CronJob controller: watches CronJobs and Jobs, and requeues for the next start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lightkube.models.batch_v1 import CronJob, Job
from prometheus_client import Histogram

from steersman.apimachinery.errors import is_namespace_terminating
from steersman.apimachinery.schedules import ScheduleError
from steersman.client.changes import Updated
from steersman.client.errors import AlreadyExists, NotFound
from steersman.client.objects import name_of, namespace_of, uid_of
from steersman.controllers.cronjob import plan
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.dependents import controlled_by, index_dependents
from steersman.runtime.owners import controller_of, is_controlled_by
from steersman.runtime.result import Result
from steersman.runtime.structs import replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from lightkube.models.batch_v1 import CronJobStatus
    from lightkube.models.core_v1 import ObjectReference

    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.controllers.context import ControllerContext

#: Maximum wait before the clock is read again, as it may be set meanwhile.
SLEEP_SECONDS_MAX: Final = 24 * 3600.0
#: Minimum wait: a timer may fire a little before the time by the clock.
SLEEP_SECONDS_MIN: Final = 0.001

#: Seconds, as upstream's ``ExponentialBuckets(1, 2, 10)``.
_SKEW_BUCKETS: Final = tuple(float(2**exponent) for exponent in range(10))


class CronJobController(ManagedController):
    """``cronjob-controller``."""

    name = "cronjob-controller"
    queue_name = "cronjob"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_cron_job_syncs)
        self.crons: Final[Informer[CronJob]] = self.informer(CronJob)
        self.crons.add_callback(self._cron_changed)
        self.jobs: Final[Informer[Job]] = self.watch(Job, keys=self._crons_of, when=self._is_relevant)
        index_dependents(self.jobs)
        self._skew: Final = Histogram(
            "cronjob_controller_job_creation_skew_duration_seconds",
            "Seconds between the scheduled time of a Job and its creation",
            registry=context.metrics.registry, buckets=_SKEW_BUCKETS,
        )  # fmt: skip

    def _cron_changed(self, change: Change[CronJob]) -> None:
        """Enqueue a CronJob; after a change of the schedule at its next time, because missed starts of the new schedule are not caught up."""
        if not isinstance(change, Updated) or plan.has_same_schedule(change.old, change.new):
            self.enqueue_change(change)
            return
        cron, now = change.new, self.clock.now()
        try:
            at = plan.next_time(cron, now=now)
        except ScheduleError:
            message = f"unparseable schedule for cronjob: {plan.spec_of(cron).schedule}"
            self.events.event(cron, "Warning", "UnParseableCronJobSchedule", message)
        else:
            self.enqueue_after(cron, SLEEP_SECONDS_MIN if at is None else (at - now).total_seconds())

    def _crons_of(self, job: Job) -> Iterable[str]:
        owner = controller_of(job)
        if owner is not None and owner.kind == "CronJob":
            yield f"{namespace_of(job)}/{owner.name}"

    def _is_relevant(self, change: Change[Job]) -> bool:
        """Report whether a change can have an effect; each of an unexpected Job repeats its event."""
        if not isinstance(change, Updated) or plan.is_relevant(change.old, change.new):
            return True
        return any(
            (cron := self.crons.lister.by_key(key)) is not None and plan.is_unexpected(plan.status_of(cron), change.new)
            for key in self._crons_of(change.new)
        )

    async def reconcile(self, key: str) -> Result | None:
        """Update the status from the Jobs, and create a Job if a start is due."""
        cron = self.crons.lister.by_key(key)
        if cron is None:
            return None
        jobs = list(controlled_by(self.jobs.lister, uid_of(cron)))
        status = await self._clean_up(key, cron, jobs)
        status, events = plan.with_finished_jobs(status, jobs)
        status = await self._without_lost(cron, status, jobs)
        start = plan.plan_start(cron, status, now=self.clock.now())
        for event in (*events, *start.events):
            self.events.event(cron, event.type, event.reason, event.message)
        try:
            if start.at is not None:
                status = await self._start(key, cron, status, start)
        finally:
            await self._write_status(key, cron, status)
        return self._until(start.wake)

    async def _clean_up(self, key: str, cron: CronJob, jobs: Sequence[Job]) -> CronJobStatus:
        """Delete finished Jobs beyond the limits, and remove them from the active ones.

        Terminating Jobs count and are deleted again. Upstream: ``cleanupFinishedJobs``.
        """
        status = plan.status_of(cron)
        for job in plan.superfluous(cron, jobs):
            if await self._delete(cron, job):
                status = plan.without(status, [uid_of(job)])
        return status

    async def _delete(self, cron: CronJob, job: Job) -> bool:
        """Delete a Job; report whether it is deleted or being deleted."""
        name = name_of(job)
        try:
            await self.client.delete(
                Job, name, namespace=namespace_of(job), uid=uid_of(job), propagation_policy="Background"
            )  # fmt: skip
        except NotFound:
            return True
        except Exception as error:  # noqa: BLE001 — reported as an event, retried when the Job changes
            self.events.event(cron, "Warning", "FailedDelete", f"Deleted job: {error}")
            return False
        self.events.event(cron, "Normal", "SuccessfulDelete", f"Deleted job {name}")
        return True

    async def _without_lost(self, cron: CronJob, status: CronJobStatus, jobs: Sequence[Job]) -> CronJobStatus:
        """Remove active Jobs that do not exist from the status; the server is read, as the cache may be behind."""
        for reference in plan.absent(status, jobs):
            try:
                await self._get(reference)
            except NotFound:
                self.events.event(cron, "Normal", "MissingJob", f"Active job went missing: {reference.name}")
                status = plan.without(status, [reference.uid or ""])
        return status

    async def _start(self, key: str, cron: CronJob, status: CronJobStatus, start: plan.Start) -> CronJobStatus:
        assert start.at is not None
        if start.replaces:
            for reference in status.active or ():
                status = await self._replace(cron, status, reference)
        job = await self._create(key, cron, start.at)
        if job is None or any(reference.uid == uid_of(job) for reference in status.active or ()):
            return status
        return plan.with_started(status, job, start.at)

    async def _replace(self, cron: CronJob, status: CronJobStatus, reference: ObjectReference) -> CronJobStatus:
        """Delete an active Job and return the status without it."""
        try:
            job = await self._get(reference)
        except Exception as error:
            self.events.event(cron, "Warning", "FailedGet", f"Get job: {error}")
            raise
        if not await self._delete(cron, job):
            raise _CouldNotReplace(f"could not replace job {namespace_of(job)}/{name_of(job)}")
        return plan.without(status, [uid_of(job)])

    async def _get(self, reference: ObjectReference) -> Job:
        """Return the Job of a reference. Raises ValueError for a reference without a namespace, as client-go does."""
        if not reference.namespace:
            raise ValueError("an empty namespace may not be set when a resource name is provided")
        return await self.client.get(Job, reference.name or "", namespace=reference.namespace)

    async def _create(self, key: str, cron: CronJob, at: datetime) -> Job | None:
        """Create the Job of a scheduled time; return None if a foreign Job has its name."""
        desired_job = plan.new_job(cron, at)
        try:
            job = await self.client.create(desired_job)
        except AlreadyExists:
            existing = await self.client.get(Job, name_of(desired_job), namespace=namespace_of(desired_job))
            return existing if is_controlled_by(existing, cron) else None
        except Exception as error:
            if not is_namespace_terminating(error):
                self.events.event(cron, "Warning", "FailedCreate", f"Error creating job: {error}")
            raise
        self._skew.observe(max(0.0, (self.clock.now() - at).total_seconds()))
        self.own_writes.note(key, self.jobs, job)
        self.events.event(cron, "Normal", "SuccessfulCreate", f"Created job {name_of(job)}")
        return job

    async def _write_status(self, key: str, cron: CronJob, status: CronJobStatus) -> None:
        if status == plan.status_of(cron):
            return
        try:
            written = await self.client.update_status(replaced(cron, status=status))
        except NotFound:
            pass
        else:
            self.own_writes.note(key, self.crons, written)

    def _until(self, wake: datetime | None) -> Result | None:
        if wake is None:
            return None
        seconds = (wake - self.clock.now()).total_seconds()
        return Result(requeue_after_seconds=min(max(seconds, SLEEP_SECONDS_MIN), SLEEP_SECONDS_MAX))


class _CouldNotReplace(Exception):  # noqa: N818 — named by the condition
    """An active Job could not be deleted; retried."""


def build(context: ControllerContext) -> CronJobController:
    """Construct the controller."""
    return CronJobController(context)
