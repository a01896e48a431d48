"""TTL controller of finished Jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.batch_v1 import Job
from prometheus_client import Histogram

from steersman.client.changes import Deleted
from steersman.client.errors import Conflict, NotFound
from steersman.client.objects import resource_version_of, split_key, uid_of
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.ttlafterfinished.plan import expires_at, seconds_to_deletion
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

#: Seconds, as upstream's ``ExponentialBuckets(0.1, 2, 14)``.
_BUCKETS: Final = tuple(0.1 * 2**exponent for exponent in range(14))


class TTLAfterFinishedController(ManagedController):
    """Reconciles Jobs."""

    name: ClassVar[str] = "ttl-after-finished-controller"
    queue_name: ClassVar[str] = "ttl_jobs_to_delete"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_ttl_after_finished_syncs)
        self._jobs = self.watch(Job, when=_expires)
        self._latency = Histogram(
            "ttl_after_finished_controller_job_deletion_duration_seconds",
            "Seconds from when a Job could be deleted to its deletion",
            registry=context.metrics.registry, buckets=_BUCKETS,
        )  # fmt: skip

    async def reconcile(self, key: str) -> Result | None:
        """Requeue for the expiration, or read the live Job (its TTL may have changed) and delete it."""
        job = self._jobs.lister.by_key(key)
        wait = seconds_to_deletion(job, now=self.clock.now()) if job is not None else None
        if wait is None:
            return None
        if wait > 0:
            return Result(requeue_after_seconds=wait)
        namespace, name = split_key(key)
        try:
            fresh = await self.client.get(Job, name, namespace=namespace)
            wait = seconds_to_deletion(fresh, now=self.clock.now())
            if wait is not None and wait > 0:
                return Result(requeue_after_seconds=wait)
            if wait is not None:
                version = resource_version_of(fresh)
                await self.client.delete_object(
                    fresh, uid=uid_of(fresh), resource_version=version, propagation_policy="Foreground"
                )
                self._latency.observe(-wait)
        except Conflict:
            return Result(requeue=True)
        except NotFound:
            pass
        return None


def _expires(change: Change[Job]) -> bool:
    """Report whether the Job has a time of deletion. Upstream: ``needsCleanup``."""
    return not isinstance(change, Deleted) and expires_at(change.new) is not None


def build(context: ControllerContext) -> TTLAfterFinishedController:
    """Construct the controller."""
    return TTLAfterFinishedController(context)
