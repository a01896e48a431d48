"""Base class of this manager's controllers: ``runtime.Controller`` with the manager's options."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lightkube.models.core_v1 import Pod

from steersman.apimachinery.errors import is_namespace_terminating
from steersman.client import PatchType
from steersman.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from steersman.client.objects import name_of, namespace_of, resource_version_of, uid_of
from steersman.client.workqueue import BucketRateLimiter, ItemExponentialFailureRateLimiter, MaxOfRateLimiter
from steersman.runtime.controller import LOW_PRIORITY, Controller

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from datetime import datetime

    from steersman.client import Client
    from steersman.client.events import EventRecorder
    from steersman.client.informer import Informer
    from steersman.client.requests import DeleteOptions
    from steersman.client.workqueue import RateLimiter
    from steersman.controllers.context import ControllerContext
    from steersman.runtime.result import Result


#: First backoff, which doubles.
BACKOFF_SECONDS_FIRST: Final = 0.005
#: Maximum backoff; after an outage every key is retried within it. Upstream: 1000 s for most keys, 60 s for namespaces.
BACKOFF_SECONDS_MAX: Final = 60.0
#: Delay before a created object is verified.
CREATED_RECHECK_SECONDS: Final = 5.0


async def is_deleted(client: Client, obj: Any, error: Exception) -> bool:
    """Return whether the deletion of ``obj`` by its UID failed with ``error`` because ``obj`` does not exist any more.

    A conflict has other causes: an object of the same name with another UID, or a lost race; a read from the server
    distinguishes them. Raises ApiError.
    """
    if not isinstance(error, Conflict):
        return isinstance(error, NotFound)
    resource = await client.discover(obj["apiVersion"], obj["kind"]) if isinstance(obj, dict) else type(obj)
    try:
        live = await client.get(resource, name_of(obj), namespace=namespace_of(obj) or None)
    except NotFound:
        return True
    return uid_of(live) != uid_of(obj)


class ManagedController(Controller):
    """Base class with controller options, event recorder and background tasks."""

    #: Source of events; empty for the controller's name.
    component: ClassVar[str] = ""
    #: First backoff of a key.
    backoff_seconds_first: ClassVar[float] = BACKOFF_SECONDS_FIRST

    def __init__(self, context: ControllerContext, *, workers: int = 1) -> None:
        self.manager: Final = context
        limiter: RateLimiter[str] = MaxOfRateLimiter(
            ItemExponentialFailureRateLimiter(
                base_delay_seconds=self.backoff_seconds_first, max_delay_seconds=BACKOFF_SECONDS_MAX
            ),
            BucketRateLimiter(clock=context.clock),
        )
        super().__init__(context, workers=workers, rate_limiter=limiter)
        self.options: Final = context.options
        self.events: Final[EventRecorder] = context.events.recorder(self.component or self.name)

    def now(self) -> datetime:
        """Return the current time in whole seconds, as in ``metav1.Time``."""
        return self.clock.now().replace(microsecond=0)

    def resync_every(self, seconds: float, keys: Callable[[], Iterable[str]]) -> None:
        """Queue the keys now and after every period, behind keys of changes; 0 for never.

        Must be called after the informers were requested: without keys the timer pauses until one of them has a change.
        """
        if seconds <= 0:
            return
        changed = asyncio.Event()
        for informer in self._informers:
            informer.add_callback(lambda _: changed.set())

        async def wait_for_keys() -> None:
            while not any(True for _ in keys()):
                changed.clear()
                await changed.wait()

        async def resync() -> None:
            for key in keys():
                self.queue.add(key, priority=LOW_PRIORITY)

        self.every(seconds, resync, name="resync", wait_until_needed=wait_for_keys)

    def record_created(self, key: str, informer: Informer[Any], created: Any) -> None:
        """Record an own write like ``own_writes.note``, and requeue ``key`` after a delay.

        An object that is deleted before a disconnected cache has observed it causes no event.
        """
        self.own_writes.note(key, informer, created)
        self.queue.add_after(key, CREATED_RECHECK_SECONDS)

    async def create_unless_exists(self, key: str, informer: Informer[Any], obj: Any) -> None:
        """Create an object that ``informer`` lacks, and record it.

        If it exists, ``key`` is requeued after a delay, by which the cache should have it. No error if its namespace is
        absent or terminating. Raises ApiError.
        """
        try:
            created = await self.client.create(obj)
        except AlreadyExists:
            self.queue.add_after(key, CREATED_RECHECK_SECONDS)
        except ApiError as error:
            if not (isinstance(error, NotFound) or is_namespace_terminating(error)):
                raise
        else:
            self.record_created(key, informer, created)

    async def delete_seen(self, obj: Any, *, unchanged: bool = False) -> None:
        """Delete an object by its UID; with ``unchanged`` only if its resourceVersion is that of ``obj``.

        No error if it does not exist, or another object has its name. Raises ApiError; a conflict means that the
        object exists and was changed.
        """
        options: DeleteOptions = {"uid": uid_of(obj)}
        if unchanged:
            options["resource_version"] = resource_version_of(obj)
        try:
            await self.client.delete_object(obj, **options)
        except ApiError as error:
            if not await is_deleted(self.client, obj, error):
                raise

    async def patch_pod_status(self, pod: Pod, patch: dict[str, Any]) -> Pod:
        """Apply a strategic merge patch to a pod's status; return the pod."""
        return await self.client.patch(
            Pod,
            name_of(pod),
            patch,
            patch_type=PatchType.STRATEGIC,
            namespace=namespace_of(pod),
            subresource="status",
        )

    async def _reconcile(self, key: str) -> Result | None:
        """Reconcile; ignore creations that fail because the namespace is terminating.

        The namespace controller deletes everything in it, so no retry is needed (upstream: ``handleErr`` of each
        controller).
        """
        try:
            return await super()._reconcile(key)
        except Exception as error:
            if is_namespace_terminating(error):
                self.log.debug("%s: dropped, its namespace is terminating", key)
                return None
            raise

    def background_tasks(self) -> dict[str, Coroutine[Any, Any, object]]:
        """Return coroutines to run during ``run``, by task name. Hook for subclasses."""
        return {}

    async def run(self) -> None:
        """Run until cancelled or stopped."""
        async with asyncio.TaskGroup() as group:
            background_tasks = [
                group.create_task(work, name=f"{self.name}: {name}") for name, work in self.background_tasks().items()
            ]
            try:
                await super().run()
            finally:
                for task in background_tasks:
                    task.cancel()
