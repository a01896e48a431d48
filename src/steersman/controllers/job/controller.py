"""Job controller: watches, claims Pods, executes the plan, and tracks finished Pods."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec
from lightkube.models.batch_v1 import Job, JobStatus
from lightkube.models.core_v1 import Pod

from steersman.apimachinery.selectors import from_label_selector
from steersman.client import PatchType
from steersman.client.changes import Deleted, Updated
from steersman.client.errors import Invalid, NotFound
from steersman.client.objects import key_of, labels_of, name_of, namespace_of, uid_of
from steersman.controllers.job import facts, plan
from steersman.controllers.job.accounting import Accounting, account, end_events, finish, settle, with_suspension
from steersman.controllers.job.backoff import Failures
from steersman.controllers.job.metrics import JobMetrics, JobSync, SyncAction
from steersman.controllers.job.observed import Observed, observe
from steersman.controllers.job.templates import new_pod
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.shared.pod_control import RECHECK_SECONDS, PodControl
from steersman.runtime.dependents import candidates, controlled_by, index_dependents
from steersman.runtime.finalizers import has_finalizer, is_being_deleted, with_finalizer
from steersman.runtime.owners import controller_of, controller_reference, is_controlled_by
from steersman.runtime.references import ReferenceManager
from steersman.runtime.result import Result
from steersman.runtime.structs import replaced
from steersman.workloads.pod_events import PodEvents
from steersman.workloads.pods import is_ready

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightkube.models.batch_v1 import JobCondition

    from steersman.apimachinery.selectors import LabelSelector
    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.controllers.context import ControllerContext


#: Pod events are batched for this time.
BATCH_SECONDS: Final = 1.0


class JobController(ManagedController):
    """``job-controller``."""

    name = "job-controller"
    queue_name = "job"
    #: As upstream's ``DefaultJobApiBackOff``.
    backoff_seconds_first = 1.0

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_job_syncs)
        self.jobs: Final[Informer[Job]] = self.informer(Job)
        self.pods: Final[Informer[Pod]] = self.informer(Pod)
        index_dependents(self.pods)
        self.control: Final = PodControl(self, self.pods)
        #: Pods by key of deleted or finished Jobs, whose finalizer is to be removed.
        self.orphans: Final = self.add_queue("job_orphan_pod", self._release_orphan_pod)
        #: UIDs of Pods by Job key whose removed finalizer the cache still shows; bounded by the Job's Pods.
        self._untracked: Final[dict[str, set[str]]] = {}
        self._failures: Final[dict[str, Failures]] = {}
        #: Monotonic time of the last reconcile by key.
        self._last_reconciled: Final[dict[str, float]] = {}
        self.jobs.add_callback(self._job_changed)
        self.pod_events: Final[PodEvents[Job]] = PodEvents(
            self,
            self.jobs,
            self.control.expectations,
            kind="Job",
            selector_of=_selector,
            enqueue=self._pod_matters,
            unowned=self._release_if_tracked,
        )
        self.pods.add_callback(self.pod_events.changed)
        self.metrics: Final = JobMetrics(context.metrics.registry)
        self.pods.add_callback(self.metrics.count_tracked)

    # Event handlers

    def _job_changed(self, change: Change[Job]) -> None:
        job = change.latest
        if isinstance(change, Deleted):  # another Job may have its name then
            self._forget(key_of(job))
        if isinstance(change, Deleted) or facts.is_finished(job):
            self._release_pods_of(job)
        if isinstance(change, Updated) and _generation(change.old) == _generation(job):
            self._enqueue_soon(job)
        else:
            self.enqueue_change(change)

    def _enqueue_soon(self, job: Job) -> None:
        """Enqueue with at most one sync per second: Pods of a large Job finish together, and each sync writes."""
        since = self.clock.monotonic() - self._last_reconciled.get(key_of(job), -BATCH_SECONDS)
        self.enqueue_after(job, max(0.0, BATCH_SECONDS - since))

    def _pod_matters(self, job: Job, pod: Pod) -> None:
        if facts.is_finished(job):
            self._release_if_tracked(pod)
        self._enqueue_soon(job)

    # Pods of deleted Jobs

    def _release_pods_of(self, job: Job) -> None:
        for pod in controlled_by(self.pods.lister, uid_of(job)):
            self._release_if_tracked(pod)

    def _release_if_tracked(self, pod: Pod) -> None:
        if has_finalizer(pod, facts.TRACKING):
            self.orphans.add(key_of(pod))

    async def _release_orphan_pod(self, key: str) -> None:
        """Remove the finalizer of a Pod without an active Job; Pods of another manager are ignored."""
        pod = self.pods.lister.by_key(key)
        if pod is None or not has_finalizer(pod, facts.TRACKING):
            return
        owner = controller_of(pod)
        if owner is not None and owner.kind != "Job":
            return
        job = self.pod_events.owner_of(pod)
        if job is not None and (not facts.is_finished(job) or facts.is_managed_by_another(job)):
            return
        await self._untrack(pod)

    async def _untrack(self, pod: Pod) -> None:
        """Remove the tracking finalizer from a Pod; no error if it does not exist."""
        patch = {"metadata": {"uid": uid_of(pod), "$deleteFromPrimitiveList/finalizers": [facts.TRACKING]}}
        with suppress(Invalid, NotFound):  # Invalid: another Pod has the name, and the UID does not match
            await self.client.patch(
                Pod, name_of(pod), patch, namespace=namespace_of(pod), patch_type=PatchType.STRATEGIC
            )

    # Reconcile

    async def reconcile(self, key: str) -> Result | None:
        """Create and delete Pods, count finished ones, and update the status."""
        job = self.jobs.lister.by_key(key)
        if job is None or facts.is_managed_by_another(job) or facts.is_finished(job):
            self._forget(key)
            return None
        if facts.spec_of(job).completionMode not in (None, *facts.MODES):
            message = "Skipped Job sync because completion mode is unknown"
            self.events.event(job, "Warning", "UnknownCompletionMode", message)
            return None
        self._last_reconciled[key] = self.clock.monotonic()
        with self.metrics.sync(job, self.clock.monotonic) as sync:
            up_to_date = await self.control.is_up_to_date(key, controlled_by(self.pods.lister, uid_of(job)))
            pods = await self._claim(job)
            seen = observe(
                job, pods, untracked=self._stale_untracked(key, pods), failures=self._failures.get(key, Failures())
            )
            return await self._go_on(key, seen, sync, up_to_date=up_to_date)

    def _forget(self, key: str) -> None:
        self.control.forget(key)
        self._untracked.pop(key, None)
        self._failures.pop(key, None)
        self._last_reconciled.pop(key, None)

    def _stale_untracked(self, key: str, pods: Iterable[Pod]) -> set[str]:
        """Return Pods without finalizer that the cache still shows with it."""
        tracked_uids = {uid_of(pod) for pod in pods if has_finalizer(pod, facts.TRACKING)}
        still = self._untracked.pop(key, set()) & tracked_uids
        if still:
            self._untracked[key] = still
        return still

    async def _claim(self, job: Job) -> list[Pod]:
        selector = _selector(job)
        references = ReferenceManager(
            self.client, job, controller_resource=Job, dependents=Pod, finalizers=[facts.TRACKING]
        )
        claimed = await references.claim(
            candidates(self.pods.lister, job), lambda pod: selector.matches(labels_of(pod))
        )
        # A Pod that was just adopted has the finalizer, but its cached copy does not.
        return [pod if is_controlled_by(pod, job) else with_finalizer(pod, facts.TRACKING) for pod in claimed]

    async def _go_on(self, key: str, seen: Observed, sync: JobSync, *, up_to_date: bool) -> Result | None:
        now, precise = self.now(), self.clock.now()
        status = seen.job.status or JobStatus()
        if status.startTime is None and not facts.is_suspended(seen.job):
            status = replaced(status, startTime=now)
        finish = ending = plan.finish_condition(seen, status.startTime, now=precise)
        waits = plan.seconds_to_deadline(seen.job, status.startTime, now=precise) if ending is None else None
        written = _Written(created=(), deleted=())
        if ending is not None:
            if up_to_date:
                written = await self._delete(key, seen, seen.active, count=True)
            # Pods that are not deleted or not cached may have a finalizer: too early for the final condition.
            ending = ending if up_to_date and len(written.deleted) == len(seen.active) else None
        elif up_to_date and not is_being_deleted(seen.job):
            pods = plan.plan_pods(seen, now=precise)
            waits = _sooner(waits, pods.requeue_after_seconds)
            written = await self._apply(key, seen, pods)
            sync.action = written.action
        active = len(seen.active) + len(written.created) - len(written.deleted)
        if finish is None:
            status, ending = self._check_success(seen, status, active, managed=written.managed)
        status = replaced(
            status,
            active=active or None,
            ready=seen.ready - sum(map(is_ready, written.deleted)),
            terminating=seen.terminating + len(written.deleted),
        )
        await self._keep_account(key, seen, account(seen, status, _stamped(ending, now), now=now))
        if written.error is not None:
            raise written.error
        if not self.control.expectations.satisfied(key):
            waits = _sooner(waits, RECHECK_SECONDS)
        return None if waits is None else Result(requeue_after_seconds=waits)

    def _check_success(
        self, seen: Observed, status: JobStatus, active: int, *, managed: bool
    ) -> tuple[JobStatus, JobCondition | None]:
        """Return the ending if the Job is complete; else update the condition ``Suspended``."""
        complete = plan.completion(seen, active, now=self.now())
        if complete is not None or not managed:
            return status, complete
        status, event = with_suspension(status, suspended=facts.is_suspended(seen.job), now=self.now())
        if event:
            self.events.event(seen.job, "Normal", event, f"Job {event.lower()}")
        return status, None

    # Pods

    async def _apply(self, key: str, seen: Observed, pods: plan.PodsPlan) -> _Written:
        if pods.delete:
            return await self._delete(key, seen, pods.delete, count=False)
        if not pods.create:
            return _Written(created=(), deleted=(), managed=True)
        owner = controller_reference(seen.job, api_version="batch/v1", kind="Job")
        new_pods = [
            new_pod(seen.job, owner, index, last=None if index is None else seen.last_failed.get(index))
            for index in pods.create
        ]
        self.control.expectations.expect(key, creations=len(new_pods))
        created = await self.control.create(key, seen.job, new_pods)
        self.metrics.count_creations(seen, succeeded=len(created.pods), failed=created.failures)
        return _Written(created=created.pods, deleted=(), error=created.error, managed=True)

    async def _delete(self, key: str, seen: Observed, pods: Sequence[Pod], *, count: bool) -> _Written:
        """Delete Pods; with ``count`` they will count as failed, so their finalizers are kept."""
        self.control.expectations.expect(key, deletions=map(uid_of, pods))
        removed = await self.control.delete(key, seen.job, pods, before=None if count else self._untrack)
        if not count:
            self._untracked.setdefault(key, set()).update(map(uid_of, removed.pods))
        return _Written(created=(), deleted=removed.pods, error=removed.error, managed=True)

    # Accounts

    async def _keep_account(self, key: str, seen: Observed, accounting: Accounting) -> None:
        job = await self._write(key, seen.job, accounting.status)
        self.metrics.count_actions(accounting.policy_actions)
        self._failures[key] = seen.failures
        untracked_uids = await self._untrack_all(key, accounting.to_untrack)
        tracked = {uid_of(pod) for pod in seen.tracked} - untracked_uids
        status = settle(job.status or JobStatus(), tracked)
        all_gone = len(untracked_uids) == len(accounting.to_untrack)
        if all_gone:
            status = finish(status, accounting.final)
        job = await self._write(key, job, status)
        if facts.is_finished(job):
            self._record_end(job)
        if not all_gone:
            raise _UntrackError(
                f"finalizers of {len(accounting.to_untrack) - len(untracked_uids)} pods of {key} are still there"
            )

    async def _write(self, key: str, job: Job, status: JobStatus) -> Job:
        """Write the status if it changed; return the Job."""
        if status == job.status:
            return job
        written = await self.client.update_status(replaced(job, status=status))
        self.own_writes.note(key, self.jobs, written)
        self.metrics.count_status(job, status)
        return written

    async def _untrack_all(self, key: str, pods: Sequence[Pod]) -> set[str]:
        """Remove the tracking finalizers; return the UIDs of the Pods for which it succeeded."""
        outcomes = await asyncio.gather(*map(self._untrack, pods), return_exceptions=True)
        untracked_uids = {uid_of(pod) for pod, outcome in zip(pods, outcomes, strict=True) if outcome is None}
        if untracked_uids:
            self._untracked.setdefault(key, set()).update(untracked_uids)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                self.log.info("a pod of %s keeps its finalizer for now: %s", key, outcome)
        return untracked_uids

    def _record_end(self, job: Job) -> None:
        self.metrics.count_end(job)
        for type_, reason, message in end_events(job):
            self.events.event(job, type_, reason, message)


class _UntrackError(Exception):
    """Removing the finalizer of some Pods failed; the next reconcile continues."""


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the Pod writes of a reconcile."""

    created: tuple[Pod, ...]
    deleted: tuple[Pod, ...]
    error: Exception | None = None
    #: True if Pods were processed.
    managed: bool = False

    @property
    def action(self) -> SyncAction:
        """Return the action of the reconcile."""
        if self.created:
            return SyncAction.PODS_CREATED
        return SyncAction.PODS_DELETED if self.deleted else SyncAction.TRACKING


def _selector(job: Job) -> LabelSelector:
    selector = facts.spec_of(job).selector
    return from_label_selector(None if selector is None else msgspec.to_builtins(selector))


def _generation(job: Job) -> int:
    return (job.metadata.generation if job.metadata else None) or 0


def _stamped(ending: JobCondition | None, now: object) -> JobCondition | None:
    """Return the condition with whole seconds."""
    if ending is None or ending.lastTransitionTime is None or not ending.lastTransitionTime.microsecond:
        return ending
    return replaced(ending, lastProbeTime=now, lastTransitionTime=now)


def _sooner(one: float | None, other: float | None) -> float | None:
    return min((seconds for seconds in (one, other) if seconds is not None), default=None)


def build(context: ControllerContext) -> JobController:
    """Construct the controller."""
    return JobController(context)
