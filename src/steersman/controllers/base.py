"""The shell of a controller inside this manager: ``runtime.Controller`` that also knows the manager's options."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lightkube.models.core_v1 import Pod

from steersman.apimachinery.errors import is_namespace_terminating, is_not_found
from steersman.client import PatchType
from steersman.client.errors import ApiError
from steersman.client.objects import name_of, namespace_of, resource_version_of, uid_of
from steersman.client.workqueue import ItemExponentialBackoff, LongestOf, OverallBucket
from steersman.runtime.controller import LOW_PRIORITY, Controller

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable
    from datetime import datetime

    from steersman.client.events import EventRecorder
    from steersman.client.informer import Informer
    from steersman.client.requests import DeleteOptions
    from steersman.client.workqueue import RateLimiter
    from steersman.controllers.context import ControllerContext
    from steersman.runtime.result import Result


#: After any outage all is looked at again within this. Upstream lets most keys wait for up to 1000 s, namespaces 60 s.
BACKOFF_SECONDS_MAX: Final = 60.0
#: When it is made sure that what was created is there.
SECOND_LOOK_SECONDS: Final = 5.0


async def unless_namespace_ends(step: Awaitable[Result | None]) -> Result | None:
    """What a step of a reconcile in one namespace came to; None if it failed as that ends (upstream's ``handleErr``)."""
    try:
        return await step
    except Exception as error:
        if is_namespace_terminating(error):
            return None
        raise


class Shell(Controller):
    """Base of this manager's controllers: also knows their options, and runs work beside the queue."""

    #: Source of its events; its name where it is not given.
    component: ClassVar[str] = ""

    def __init__(self, context: ControllerContext, *, workers: int = 1) -> None:
        self.manager: Final = context
        limiter: RateLimiter[str] = LongestOf(
            ItemExponentialBackoff(max_delay_seconds=BACKOFF_SECONDS_MAX), OverallBucket(clock=context.clock)
        )
        super().__init__(context, workers=workers, rate_limiter=limiter)
        self.options: Final = context.options
        self.events: Final[EventRecorder] = context.events.recorder(self.component or self.name)

    def now(self) -> datetime:
        """The time as ``metav1.Time`` tells it, in whole seconds."""
        return self.clock.now().replace(microsecond=0)

    def resync_every(self, seconds: float, keys: Callable[[], Iterable[str]]) -> None:
        """Queue the keys now and after every period, behind keys of changes; 0 for never."""
        if seconds <= 0:
            return

        async def resync() -> None:
            for key in keys():
                self.queue.add(key, priority=LOW_PRIORITY)

        self.every(seconds, resync, name="resync")

    def note_created(self, key: str, informer: Informer[Any], created: Any) -> None:
        """As ``own_writes.note``, and ``key`` is looked at once more.

        Who deletes ``created`` before a cache that was cut off has seen it leaves no event behind.
        """
        self.own_writes.note(key, informer, created)
        self.queue.add_after(key, SECOND_LOOK_SECONDS)

    async def delete_seen(self, obj: Any, *, unchanged: bool = False) -> None:
        """Delete the object that was looked at, unless it is gone; ``unchanged``: only in the version that was looked at.

        A conflict is raised as any other error (another has its name, or it was changed): the retry looks again.
        """
        options: DeleteOptions = {"uid": uid_of(obj)}
        if unchanged:
            options["resource_version"] = resource_version_of(obj)
        try:
            await self.client.delete_object(obj, **options)
        except ApiError as error:
            if not is_not_found(error):
                raise

    async def patch_pod_status(self, pod: Pod, patch: dict[str, Any]) -> Pod:
        """Change parts of a pod's status; ``patch`` is a strategic one, so that other conditions stay."""
        return await self.client.patch(
            Pod,
            name_of(pod),
            patch,
            patch_type=PatchType.STRATEGIC,
            namespace=namespace_of(pod),
            subresource="status",
        )

    def beside(self) -> dict[str, Coroutine[Any, Any, object]]:
        """For subclasses: work that runs as long as the controller does, by name."""
        return {}

    async def run(self) -> None:
        """Work until cancelled or stopped."""
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(work, name=f"{self.name}: {name}") for name, work in self.beside().items()]
            try:
                await super().run()
            finally:
                for task in beside:
                    task.cancel()
